// SPDX-License-Identifier: MIT
// Loads and stores by addresses of 64 bits, of global memory or of any (flat), and of scratch.
#include "groups/flat_access.hpp"
#include "groups/lds_access.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

template <Element e>
void read_global(Wave& wave,
                 const Instruction& i,
                 const LaneAddresses& address,
                 LaneMask lanes,
                 const LoadResult& result)
{
    check_lanes(wave, i, address, lanes, e.bytes, false);
    wave.observe(i, access_of(Space::global, Access::read, address, lanes, e.bytes, i.destination));
    if(lanes == all_lanes)
        read_lanes_or_zero<e>(address, lanes, result.to);
    else
        read_lanes<e>(address, lanes, result.to);
}

template <Element e>
void write_global(Wave& wave, const Instruction& i, const LaneAddresses& address, LaneMask lanes)
{
    check_lanes(wave, i, address, lanes, e.bytes, true);
    wave.observe(i, access_of(Space::global, Access::write, address, lanes, e.bytes, i.source[1]));
    write_lanes<e>(address, lanes, &wave.vector[i.source[1].number]);
}

template <Element e>
void read_scratch(Wave& wave,
                  const Instruction& i,
                  const LaneAddresses& offset,
                  LaneMask lanes,
                  const LoadResult& result)
{
    alignas(64) std::byte bytes[lane_count][16];
    visit_scratch<e.bytes>(
        wave,
        i,
        offset,
        lanes,
        false,
        [&](const LaneAddresses& address, unsigned piece, unsigned from) {
            wave.observe(
                i,
                access_of(
                    Space::scratch, Access::read, address, lanes, piece, i.destination, from));
            for_each_lane(
                lanes, [&](int lane) { std::memcpy(bytes[lane] + from, address.at(lane), piece); });
        });
    LaneAddresses copies;
    for(int lane = 0; lane < lane_count; ++lane)
        copies.of[lane] = reinterpret_cast<uint64_t>(bytes[lane]);
    read_lanes<e>(copies, lanes, result.to);
}

template <Element e>
void write_scratch(Wave& wave, const Instruction& i, const LaneAddresses& offset, LaneMask lanes)
{
    alignas(64) std::byte bytes[lane_count][16];
    LaneAddresses copies;
    for(int lane = 0; lane < lane_count; ++lane)
        copies.of[lane] = reinterpret_cast<uint64_t>(bytes[lane]);
    write_lanes<e>(copies, lanes, &wave.vector[i.source[1].number]);
    visit_scratch<e.bytes>(
        wave,
        i,
        offset,
        lanes,
        true,
        [&](const LaneAddresses& address, unsigned piece, unsigned from) {
            wave.observe(
                i,
                access_of(Space::scratch, Access::write, address, lanes, piece, i.source[1], from));
            for_each_lane(
                lanes, [&](int lane) { std::memcpy(address.at(lane), bytes[lane] + from, piece); });
        });
}

template <Element e>
LoadResult issue(Wave& wave, const Instruction& i)
{
    return i.to_lds ? issue_load_to_lds<e>(wave, wave.vector_memory, i, wave.exec())
                    : issue_load<e>(wave, wave.vector_memory, i, wave.exec(), true);
}

template <Element e>
void global_load(Wave& wave, const Instruction& i)
{
    LaneAddresses address;
    flat_addresses(wave, i, address);
    read_global<e>(wave, i, address, wave.exec(), issue<e>(wave, i));
}

template <Element e>
void global_store(Wave& wave, const Instruction& i)
{
    LaneAddresses address;
    flat_addresses(wave, i, address);
    wave.issue(wave.vector_memory, i, 0);
    write_global<e>(wave, i, address, wave.exec());
}

template <Element e>
void scratch_load(Wave& wave, const Instruction& i)
{
    LaneAddresses offset;
    scratch_offsets(wave, i, offset);
    read_scratch<e>(wave, i, offset, wave.exec(), issue<e>(wave, i));
}

template <Element e>
void scratch_store(Wave& wave, const Instruction& i)
{
    LaneAddresses offset;
    scratch_offsets(wave, i, offset);
    wave.issue(wave.vector_memory, i, 0);
    write_scratch<e>(wave, i, offset, wave.exec());
}

// Both counters count flat instructions: vmcnt delivers, and lgkmcnt has one more operation.
template <Element e>
void flat_load(Wave& wave, const Instruction& i)
{
    LaneAddresses address;
    flat_addresses(wave, i, address);
    const FlatLanes lanes(wave, address);
    const LoadResult result = issue<e>(wave, i);
    wave.issue(wave.local_memory, i, 0);
    if(lanes.global != 0) read_global<e>(wave, i, address, lanes.global, result);
    if(lanes.scratch != 0) read_scratch<e>(wave, i, address, lanes.scratch, result);
    if(lanes.lds == 0) return;
    const LaneMask within = keep_within_lds(wave, address, lanes.lds, e.bytes);
    wave.observe(i,
                 access_of(Space::lds, Access::read, address, lanes.lds, e.bytes, i.destination));
    read_lanes<e>(address, within, result.to);
}

template <Element e>
void flat_store(Wave& wave, const Instruction& i)
{
    LaneAddresses address;
    flat_addresses(wave, i, address);
    const FlatLanes lanes(wave, address);
    wave.issue(wave.vector_memory, i, 0);
    wave.issue(wave.local_memory, i, 0);
    if(lanes.global != 0) write_global<e>(wave, i, address, lanes.global);
    if(lanes.scratch != 0) write_scratch<e>(wave, i, address, lanes.scratch);
    if(lanes.lds == 0) return;
    const LaneMask within = keep_within_lds(wave, address, lanes.lds, e.bytes);
    wave.observe(i, access_of(Space::lds, Access::write, address, lanes.lds, e.bytes, i.source[1]));
    write_lanes<e>(address, within, &wave.vector[i.source[1].number]);
}

constexpr bool extend  = true;
constexpr unsigned low = 1, high = 2;

constexpr NamedHandler handlers[] = {
#define LOADS_AND_STORES(segment)                                                                  \
    {#segment "_load_ubyte", &segment##_load<Element{1}>},                                         \
        {#segment "_load_sbyte", &segment##_load<Element{1, extend}>},                             \
        {#segment "_load_ushort", &segment##_load<Element{2}>},                                    \
        {#segment "_load_sshort", &segment##_load<Element{2, extend}>},                            \
        {#segment "_load_dword", &segment##_load<Element{4}>},                                     \
        {#segment "_load_dwordx2", &segment##_load<Element{8}>},                                   \
        {#segment "_load_dwordx3", &segment##_load<Element{12}>},                                  \
        {#segment "_load_dwordx4", &segment##_load<Element{16}>},                                  \
        {#segment "_load_ubyte_d16", &segment##_load<Element{1, false, low}>},                     \
        {#segment "_load_ubyte_d16_hi", &segment##_load<Element{1, false, high}>},                 \
        {#segment "_load_sbyte_d16", &segment##_load<Element{1, extend, low}>},                    \
        {#segment "_load_sbyte_d16_hi", &segment##_load<Element{1, extend, high}>},                \
        {#segment "_load_short_d16", &segment##_load<Element{2, false, low}>},                     \
        {#segment "_load_short_d16_hi", &segment##_load<Element{2, false, high}>},                 \
        {#segment "_store_byte", &segment##_store<Element{1}>},                                    \
        {#segment "_store_byte_d16_hi", &segment##_store<Element{1, false, high}>},                \
        {#segment "_store_short", &segment##_store<Element{2}>},                                   \
        {#segment "_store_short_d16_hi", &segment##_store<Element{2, false, high}>},               \
        {#segment "_store_dword", &segment##_store<Element{4}>},                                   \
        {#segment "_store_dwordx2", &segment##_store<Element{8}>},                                 \
        {#segment "_store_dwordx3", &segment##_store<Element{12}>},                                \
    { #segment "_store_dwordx4", &segment##_store<Element{16}> }
    LOADS_AND_STORES(flat),
    LOADS_AND_STORES(global),
    LOADS_AND_STORES(scratch),
#undef LOADS_AND_STORES
#define LOADS_TO_LDS(segment)                                                                      \
    {#segment "_load_lds_ubyte", &segment##_load<Element{1}>},                                     \
        {#segment "_load_lds_sbyte", &segment##_load<Element{1, extend}>},                         \
        {#segment "_load_lds_ushort", &segment##_load<Element{2}>},                                \
        {#segment "_load_lds_sshort", &segment##_load<Element{2, extend}>},                        \
    { #segment "_load_lds_dword", &segment##_load<Element{4}> }
    LOADS_TO_LDS(global),
    LOADS_TO_LDS(scratch),
#undef LOADS_TO_LDS
    {"global_load_lds_dwordx3", &global_load<Element{12}>},
    {"global_load_lds_dwordx4", &global_load<Element{16}>},
};

} // namespace

HandlerTable flat_handlers() { return handlers; }

} // namespace ckprof::emulator
