// SPDX-License-Identifier: MIT
// Instructions of LDS that move values between lanes: permutations, addresses by the lane's number,
// transposed reads.
#include "groups/lds_access.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

VectorRegister& issue_result(Wave& wave, const Instruction& i)
{ return *issue_load<Element{4}>(wave, wave.local_memory, i, wave.exec(), true).to[0]; }

bool is_on(LaneMask lanes, unsigned lane) { return (lanes >> lane & 1) != 0; }

// Active lanes send to the lane that they name; the last one wins.
void permute(Wave& wave, const Instruction& i)
{
    const VectorRegister& address = wave.vector[i.source[0].number];
    const VectorRegister& data    = wave.vector[i.source[1].number];
    VectorRegister& to            = issue_result(wave, i);
    for_each_lane(wave.exec(), [&](int lane) {
        const uint32_t at            = address.lane[lane] + static_cast<uint32_t>(i.immediate);
        to.lane[at / 4 % lane_count] = data.lane[lane];
    });
}

// Lanes fetch from the lane that they name, 0 from inactive ones.
void backward_permute(Wave& wave, const Instruction& i)
{
    const VectorRegister& address = wave.vector[i.source[0].number];
    const VectorRegister& data    = wave.vector[i.source[1].number];
    VectorRegister& to            = issue_result(wave, i);
    VectorRegister sent           = data;
    const LaneMask lanes          = wave.exec();
    for(int lane = 0; lane < lane_count; ++lane)
        sent.lane[lane] &= 0U - static_cast<uint32_t>(lanes >> lane & 1);
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const uint32_t at = address.lane[lane] + static_cast<uint32_t>(i.immediate);
        to.lane[lane]     = sent.lane[at / 4 % lane_count];
    }
}

// The lane that a lane reads; the offset says how, within 4 or 32 lanes.
unsigned swizzled_lane(unsigned lane, unsigned offset)
{
    const unsigned low = offset & 31;
    if(offset >= 0xe000)
    { // as a Fourier transform orders its values; the mask keeps upper bits of the number
        unsigned reversed = 0;
        for(unsigned bit = 0; bit < 5; ++bit) reversed |= (lane >> bit & 1) << (4 - bit);
        return reversed >> std::popcount(low) | (lane & low) | (lane & 32);
    }
    if(offset >= 0xc000)
    { // rotates by a number of lanes, up or down, but for the bits of the mask
        const unsigned by      = offset >> 5 & 31;
        const unsigned rotated = (offset >> 10 & 1) != 0 ? lane - by : lane + by;
        return (lane & low) | (rotated & ~low & 31) | (lane & 32);
    }
    if(offset >= 0x8000) return (lane & ~3U) | (offset >> lane % 4 * 2 & 3);
    return (((lane & low) | (offset >> 5 & 31)) ^ (offset >> 10 & 31)) | (lane & 32);
}

void swizzle(Wave& wave, const Instruction& i)
{
    const VectorRegister& from = wave.vector[i.source[0].number];
    VectorRegister& to         = issue_result(wave, i);
    for(unsigned lane = 0; lane < lane_count; ++lane)
    {
        const unsigned source = swizzled_lane(lane, static_cast<unsigned>(i.immediate));
        to.lane[lane]         = is_on(wave.exec(), source) ? from.lane[source] : 0;
    }
}

// M0 and 4 bytes for each lane.
VectorRegister addresses_by_lane(const Wave& wave)
{
    VectorRegister address;
    for(uint32_t lane = 0; lane < lane_count; ++lane)
        address.lane[lane] = (wave.scalar[scalar::m0] & lds_base_bits(wave)) + 4 * lane;
    return address;
}

void read_by_lane(Wave& wave, const Instruction& i)
{
    const LdsAccess access(wave, addresses_by_lane(wave), static_cast<uint32_t>(i.immediate), 4);
    wave.observe(
        i, access_of(Space::lds, Access::read, access.address, wave.exec(), 4, i.destination));
    VectorRegister* to[] = {&issue_result(wave, i)};
    read_lanes<Element{4}>(access.address, access.lanes, to);
}

void write_by_lane(Wave& wave, const Instruction& i)
{
    const LdsAccess access(wave, addresses_by_lane(wave), static_cast<uint32_t>(i.immediate), 4);
    wave.observe(i,
                 access_of(Space::lds, Access::write, access.address, wave.exec(), 4, i.source[1]));
    wave.issue(wave.local_memory, i, 0);
    write_lanes<Element{4}>(access.address, access.lanes, &wave.vector[i.source[1].number]);
}

// What 16 lanes read, each `bytes`, is a matrix of 16 columns, row by row; each of the lanes gets a
// column.
template <unsigned bytes, unsigned element_bits>
void read_transposed(Wave& wave, const Instruction& i)
{
    constexpr unsigned rows          = 8 * bytes / element_bits;
    constexpr unsigned lanes_per_row = 16 / rows;
    const LdsAccess access(
        wave, wave.vector[i.source[0].number], static_cast<uint32_t>(i.immediate), bytes);
    wave.observe(
        i, access_of(Space::lds, Access::read, access.address, wave.exec(), bytes, i.destination));
    VectorRegister read[bytes / 4];
    VectorRegister* from[bytes / 4];
    for(unsigned d = 0; d < bytes / 4; ++d) from[d] = &read[d];
    read_lanes_or_zero<Element{bytes}>(access.address, access.lanes, from);
    const LoadResult result =
        issue_load<Element{bytes}>(wave, wave.local_memory, i, wave.exec(), true);
    // elements of 6 bits cross registers: two of them are looked at
    const auto element = [&](unsigned lane, unsigned index) {
        const unsigned bit = index * element_bits, d = bit / 32;
        const uint64_t high = d + 1 < bytes / 4 ? read[d + 1].lane[lane] : 0;
        return (read[d].lane[lane] | high << 32) >> bit % 32 & ((1U << element_bits) - 1);
    };
    for(unsigned lane = 0; lane < lane_count; ++lane)
        for(unsigned row = 0; row < rows; ++row)
        {
            const unsigned column = lane % 16;
            const unsigned source = lane / 16 * 16 + row * lanes_per_row + column / rows;
            const uint64_t value  = element(source, column % rows);
            const unsigned bit    = row * element_bits;
            result.to[bit / 32]->lane[lane] |= static_cast<uint32_t>(value << bit % 32);
            if(bit % 32 + element_bits > 32)
                result.to[bit / 32 + 1]->lane[lane] |=
                    static_cast<uint32_t>(value >> (32 - bit % 32));
        }
}

void nothing(Wave&, const Instruction&) {}

constexpr NamedHandler handlers[] = {
    {"ds_nop", &nothing},
    {"ds_permute_b32", &permute},
    {"ds_bpermute_b32", &backward_permute},
    {"ds_swizzle_b32", &swizzle},
    {"ds_read_addtid_b32", &read_by_lane},
    {"ds_write_addtid_b32", &write_by_lane},
    {"ds_read_b64_tr_b16", &read_transposed<8, 16>},
    {"ds_read_b64_tr_b8", &read_transposed<8, 8>},
    {"ds_read_b64_tr_b4", &read_transposed<8, 4>},
    {"ds_read_b96_tr_b6", &read_transposed<12, 6>},
};

} // namespace

HandlerTable lds_lane_handlers() { return handlers; }

} // namespace ckprof::emulator
