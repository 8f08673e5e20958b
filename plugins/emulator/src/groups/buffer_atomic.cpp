// SPDX-License-Identifier: MIT
// Atomics through buffers: lanes outside of the buffer change nothing and get 0.
#include "groups/atomics.hpp"
#include "groups/buffer_resource.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

template <AtomicOperation operation, typename T>
void change(Wave& wave, const Instruction& i)
{
    BufferAccess access(wave, i);
    const LaneMask lanes      = access.lanes(sizeof(T));
    const AtomicResult result = issue_atomic<T>(wave, wave.vector_memory, i, i.sc0);
    if(lanes == 0) return;
    const LaneAddresses& address = access.addresses(i, lanes, sizeof(T), true);
    check_alignment(wave, i, address, lanes, sizeof(T));
    wave.observe(
        i, access_of(access.space(), Access::atomic, address, lanes, sizeof(T), i.destination));
    const VectorRegister* data = &wave.vector[i.destination.number];
    change_memory<operation, T, true>(address,
                                      lanes,
                                      {{data, data + sizeof(T) / 4}},
                                      result,
                                      flushes_in_memory<operation, T>(wave));
}

constexpr NamedHandler handlers[] = {CKPROF_MEMORY_ATOMICS("buffer", change)};

} // namespace

HandlerTable buffer_atomic_handlers() { return handlers; }

} // namespace ckprof::emulator
