// SPDX-License-Identifier: MIT
// What moves values between lanes, or depends on the number of the lane.
#include <bit>

#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

// Also of a scalar or constant source.
uint32_t value_in_lane(Wave& wave, const Operand& source, unsigned lane)
{ return wave.lanes(source, wave.temporary[0]).lane[lane]; }

void read_first_lane(Wave& wave, const Instruction& i)
{
    const LaneMask exec = wave.exec();
    const auto lane     = exec == 0 ? 0U : static_cast<unsigned>(std::countr_zero(exec));
    wave.write(i.destination, value_in_lane(wave, i.source[0], lane));
}

void read_lane(Wave& wave, const Instruction& i)
{ wave.write(i.destination, value_in_lane(wave, i.source[0], wave.read32(i.source[1]) & 63)); }

// Whether the lane is on does not matter.
void write_lane(Wave& wave, const Instruction& i)
{ wave.result(i.destination).lane[wave.read32(i.source[1]) & 63] = wave.read32(i.source[0]); }

// Adds the number of ones below a lane in one half of a mask.
template <int first_lane>
void count_below(Wave& wave, const Instruction& i)
{
    VectorRegister rooms[2];
    const VectorRegister& mask = wave.lanes(i.source[0], rooms[0]);
    const VectorRegister& base = wave.lanes(i.source[1], rooms[1]);
    VectorRegister& result     = wave.temporary[6];
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const int bits       = lane - first_lane;
        const uint32_t below = bits <= 0 ? 0 : bits >= 32 ? ~0U : (1U << bits) - 1;
        result.lane[lane] =
            base.lane[lane] + static_cast<uint32_t>(std::popcount(mask.lane[lane] & below));
    }
    write_lanes(wave, i.destination, result);
}

void swap_registers(Wave& wave, const Instruction& i)
{
    const VectorRegister from = wave.result(i.source[0]), to = wave.result(i.destination);
    write_lanes(wave, i.destination, from);
    write_lanes(wave, i.source[0], to);
}

// Exchanges the odd rows (of 16 or 32 lanes) of the destination with the even ones of the source.
template <int row_lanes>
void swap_rows(Wave& wave, const Instruction& i)
{
    VectorRegister& to   = wave.result(i.destination);
    VectorRegister& from = wave.result(i.source[0]);
    const LaneMask exec  = wave.exec();
    for(int row = 0; row < lane_count; row += 2 * row_lanes)
        for(int lane = row; lane < row + row_lanes; ++lane)
        {
            const uint32_t even = from.lane[lane], odd = to.lane[lane + row_lanes];
            if((exec >> lane & 1) != 0) from.lane[lane] = odd;
            if((exec >> (lane + row_lanes) & 1) != 0) to.lane[lane + row_lanes] = even;
        }
}

constexpr NamedHandler handlers[] = {
    {"v_readfirstlane_b32", &read_first_lane},
    {"v_readlane_b32", &read_lane},
    {"v_writelane_b32", &write_lane},
    {"v_mbcnt_lo_u32_b32", &count_below<0>},
    {"v_mbcnt_hi_u32_b32", &count_below<32>},
    {"v_swap_b32", &swap_registers},
    {"v_permlane16_swap_b32", &swap_rows<16>},
    {"v_permlane32_swap_b32", &swap_rows<32>},
};

} // namespace

HandlerTable vector_lane_handlers() { return handlers; }

} // namespace ckprof::emulator
