// SPDX-License-Identifier: MIT
// Reads and writes of LDS.
#include "groups/lds_access.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

template <Element e>
void read(Wave& wave, const Instruction& i)
{
    const LdsAccess access(
        wave, wave.vector[i.source[0].number], static_cast<uint32_t>(i.immediate), e.bytes);
    wave.observe(
        i,
        access_of(Space::lds, Access::read, access.address, wave.exec(), e.bytes, i.destination));
    const LoadResult result = issue_load<e>(wave, wave.local_memory, i, wave.exec(), false);
    read_lanes_or_zero<e>(access.address, access.lanes, result.to);
}

template <Element e>
void write(Wave& wave, const Instruction& i)
{
    const LdsAccess access(
        wave, wave.vector[i.source[0].number], static_cast<uint32_t>(i.immediate), e.bytes);
    wave.observe(
        i, access_of(Space::lds, Access::write, access.address, wave.exec(), e.bytes, i.source[1]));
    wave.issue(wave.local_memory, i, 0);
    write_lanes<e>(access.address, access.lanes, &wave.vector[i.source[1].number]);
}

// Two elements at offsets in units of elements, or of 64 elements.
template <Element e, unsigned unit>
void read_two(Wave& wave, const Instruction& i)
{
    constexpr Element both{2 * e.bytes};
    const LoadResult result = issue_load<both>(wave, wave.local_memory, i, wave.exec(), false);
    for(unsigned k = 0; k < 2; ++k)
    {
        const LdsAccess access(
            wave, wave.vector[i.source[0].number], i.offset[k] * e.bytes * unit, e.bytes);
        wave.observe(i,
                     access_of(Space::lds,
                               Access::read,
                               access.address,
                               wave.exec(),
                               e.bytes,
                               i.destination,
                               k * e.bytes));
        read_lanes_or_zero<e>(access.address, access.lanes, result.to + k * e.registers());
    }
}

template <Element e, unsigned unit>
void write_two(Wave& wave, const Instruction& i)
{
    wave.issue(wave.local_memory, i, 0);
    for(unsigned k = 0; k < 2; ++k)
    {
        const LdsAccess access(
            wave, wave.vector[i.source[0].number], i.offset[k] * e.bytes * unit, e.bytes);
        wave.observe(
            i,
            access_of(
                Space::lds, Access::write, access.address, wave.exec(), e.bytes, i.source[1 + k]));
        write_lanes<e>(access.address, access.lanes, &wave.vector[i.source[1 + k].number]);
    }
}

constexpr bool extend  = true;
constexpr unsigned low = 1, high = 2;

constexpr NamedHandler handlers[] = {
    {"ds_read_u8", &read<Element{1}>},
    {"ds_read_i8", &read<Element{1, extend}>},
    {"ds_read_u16", &read<Element{2}>},
    {"ds_read_i16", &read<Element{2, extend}>},
    {"ds_read_b32", &read<Element{4}>},
    {"ds_read_b64", &read<Element{8}>},
    {"ds_read_b96", &read<Element{12}>},
    {"ds_read_b128", &read<Element{16}>},
    {"ds_read_u8_d16", &read<Element{1, false, low}>},
    {"ds_read_u8_d16_hi", &read<Element{1, false, high}>},
    {"ds_read_i8_d16", &read<Element{1, extend, low}>},
    {"ds_read_i8_d16_hi", &read<Element{1, extend, high}>},
    {"ds_read_u16_d16", &read<Element{2, false, low}>},
    {"ds_read_u16_d16_hi", &read<Element{2, false, high}>},
    {"ds_read2_b32", &read_two<Element{4}, 1>},
    {"ds_read2st64_b32", &read_two<Element{4}, 64>},
    {"ds_read2_b64", &read_two<Element{8}, 1>},
    {"ds_read2st64_b64", &read_two<Element{8}, 64>},
    {"ds_write_b8", &write<Element{1}>},
    {"ds_write_b8_d16_hi", &write<Element{1, false, high}>},
    {"ds_write_b16", &write<Element{2}>},
    {"ds_write_b16_d16_hi", &write<Element{2, false, high}>},
    {"ds_write_b32", &write<Element{4}>},
    {"ds_write_b64", &write<Element{8}>},
    {"ds_write_b96", &write<Element{12}>},
    {"ds_write_b128", &write<Element{16}>},
    {"ds_write2_b32", &write_two<Element{4}, 1>},
    {"ds_write2st64_b32", &write_two<Element{4}, 64>},
    {"ds_write2_b64", &write_two<Element{8}, 1>},
    {"ds_write2st64_b64", &write_two<Element{8}, 64>},
};

} // namespace

HandlerTable lds_handlers() { return handlers; }

} // namespace ckprof::emulator
