// SPDX-License-Identifier: MIT
// Atomics by addresses of 64 bits.
#include "groups/atomics.hpp"
#include "groups/flat_access.hpp"
#include "groups/lds_access.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

template <AtomicOperation operation, typename T>
void change_global(Wave& wave,
                   const Instruction& i,
                   const LaneAddresses& address,
                   LaneMask lanes,
                   const AtomicResult& result)
{
    check_lanes(wave, i, address, lanes, sizeof(T), true);
    check_alignment(wave, i, address, lanes, sizeof(T));
    wave.observe(i,
                 access_of(Space::global, Access::atomic, address, lanes, sizeof(T), i.source[1]));
    const VectorRegister* data = &wave.vector[i.source[1].number];
    change_memory<operation, T, true>(address,
                                      lanes,
                                      {{data, data + sizeof(T) / 4}},
                                      result,
                                      flushes_in_memory<operation, T>(wave));
}

template <AtomicOperation operation, typename T>
void global(Wave& wave, const Instruction& i)
{
    LaneAddresses address;
    flat_addresses(wave, i, address);
    const AtomicResult result = issue_atomic<T>(wave, wave.vector_memory, i, i.sc0);
    change_global<operation, T>(wave, i, address, wave.exec(), result);
}

template <AtomicOperation operation, typename T>
void flat(Wave& wave, const Instruction& i)
{
    LaneAddresses address;
    flat_addresses(wave, i, address);
    const FlatLanes lanes(wave, address);
    if(lanes.scratch != 0)
        throw DeviceError(Fault::memory, "an atomic access to scratch memory", wave, i);
    const AtomicResult result = issue_atomic<T>(wave, wave.vector_memory, i, i.sc0);
    wave.issue(wave.local_memory, i, 0);
    if(lanes.global != 0) change_global<operation, T>(wave, i, address, lanes.global, result);
    if(lanes.lds == 0) return;
    const LaneMask within = keep_within_lds(wave, address, lanes.lds, sizeof(T));
    wave.observe(i,
                 access_of(Space::lds, Access::atomic, address, lanes.lds, sizeof(T), i.source[1]));
    const VectorRegister* data = &wave.vector[i.source[1].number];
    change_memory<operation, T, false>(
        address, within, {{data, data + sizeof(T) / 4}}, result, flushes_in_lds<T>(wave));
}

constexpr NamedHandler handlers[] = {CKPROF_MEMORY_ATOMICS("global", global),
                                     CKPROF_MEMORY_ATOMICS("flat", flat)};

} // namespace

HandlerTable flat_atomic_handlers() { return handlers; }

} // namespace ckprof::emulator
