// SPDX-License-Identifier: MIT
// Atomic instructions: lanes that change a value in memory and get what was there before.
#pragma once

#include <atomic>

#include "core/errors.hpp"
#include "groups/atomic_operations.hpp"
#include "groups/memory.hpp"

namespace ckprof::emulator {

// The registers of operands; a value of 64 bits has two.
struct AtomicOperands
{ const VectorRegister* operand[2]; };

// Where old values go, as they were; null for instructions without a result.
struct AtomicResult
{ VectorRegister* to[2] = {nullptr, nullptr}; };

template <typename T>
T value_of(const VectorRegister* registers, int lane)
{
    if constexpr(sizeof(T) == 8)
        return registers[0].lane[lane] | T{registers[1].lane[lane]} << 32;
    else
        return registers[0].lane[lane];
}

// Lane by lane, from the first on. `shared`: other threads may change the value at the same time.
template <AtomicOperation operation, typename T, bool shared>
void change_memory(const LaneAddresses& address,
                   LaneMask lanes,
                   const AtomicOperands& data,
                   const AtomicResult& result,
                   bool flush_denormals)
{
    for_each_lane(lanes, [&](int lane) {
        T operands[2] = {value_of<T>(data.operand[0], lane), 0};
        if constexpr(atomic_operands(operation) == 2)
            operands[1] = value_of<T>(data.operand[1], lane);
        T old;
        if constexpr(shared)
        {
            const std::atomic_ref<T> cell(*reinterpret_cast<T*>(address.at(lane)));
            old = cell.load();
            while(!cell.compare_exchange_weak(
                old, atomic_result<operation>(old, operands, flush_denormals)));
        }
        else
        {
            std::memcpy(&old, address.at(lane), sizeof(T));
            const T value = atomic_result<operation>(old, operands, flush_denormals);
            std::memcpy(address.at(lane), &value, sizeof(T));
        }
        if(result.to[0] == nullptr) return;
        result.to[0]->lane[lane] = static_cast<uint32_t>(old);
        if constexpr(sizeof(T) == 8) result.to[1]->lane[lane] = static_cast<uint32_t>(old >> 32);
    });
}

// Unlike loads and stores, atomics must be aligned.
inline void check_alignment(const Wave& wave,
                            const Instruction& instruction,
                            const LaneAddresses& address,
                            LaneMask lanes,
                            unsigned bytes)
{
    for_each_lane(lanes, [&](int lane) {
        if((address.base + address.of[lane]) % bytes != 0)
            throw DeviceError(
                Fault::memory, "an atomic access that is not aligned", wave, instruction);
    });
}

// The result of an instruction with sc0, to be delivered with the other ones of its queue.
template <typename T>
AtomicResult issue_atomic(Wave& wave, PendingQueue& queue, const Instruction& i, bool returns)
{
    if(!returns)
    {
        wave.issue(queue, i, 0);
        return {};
    }
    const LoadResult result = issue_load<Element{sizeof(T)}>(wave, queue, i, wave.exec(), true);
    return {{result.to[0], result.to[1]}};
}

// fp32 sums in memory: gfx90a knows no denormals there.
template <AtomicOperation operation, typename T>
bool flushes_in_memory(const Wave& wave)
{
    return operation == AtomicOperation::add_float && sizeof(T) == 4 &&
           wave.program->architecture() == Architecture::gfx90a;
}

// Sums in LDS treat denormals as the mode says.
template <typename T>
bool flushes_in_lds(const Wave& wave)
{ return sizeof(T) == 4 ? wave.mode.flush_32_outputs : wave.mode.flush_64_outputs; }

// Names without the segment, as buffer, flat and global have them.
#define CKPROF_MEMORY_ATOMICS(segment, handler)                                                    \
    {segment "_atomic_swap", &handler<AtomicOperation::swap, uint32_t>},                           \
        {segment "_atomic_cmpswap", &handler<AtomicOperation::compare_swap, uint32_t>},            \
        {segment "_atomic_add", &handler<AtomicOperation::add, uint32_t>},                         \
        {segment "_atomic_sub", &handler<AtomicOperation::subtract, uint32_t>},                    \
        {segment "_atomic_smin", &handler<AtomicOperation::signed_minimum, uint32_t>},             \
        {segment "_atomic_umin", &handler<AtomicOperation::unsigned_minimum, uint32_t>},           \
        {segment "_atomic_smax", &handler<AtomicOperation::signed_maximum, uint32_t>},             \
        {segment "_atomic_umax", &handler<AtomicOperation::unsigned_maximum, uint32_t>},           \
        {segment "_atomic_and", &handler<AtomicOperation::bit_and, uint32_t>},                     \
        {segment "_atomic_or", &handler<AtomicOperation::bit_or, uint32_t>},                       \
        {segment "_atomic_xor", &handler<AtomicOperation::bit_xor, uint32_t>},                     \
        {segment "_atomic_inc", &handler<AtomicOperation::increment, uint32_t>},                   \
        {segment "_atomic_dec", &handler<AtomicOperation::decrement, uint32_t>},                   \
        {segment "_atomic_add_f32", &handler<AtomicOperation::add_float, uint32_t>},               \
        {segment "_atomic_pk_add_f16", &handler<AtomicOperation::add_two_f16, uint32_t>},          \
        {segment "_atomic_pk_add_bf16", &handler<AtomicOperation::add_two_bf16, uint32_t>},        \
        {segment "_atomic_add_f64", &handler<AtomicOperation::add_float, uint64_t>},               \
        {segment "_atomic_min_f64", &handler<AtomicOperation::minimum_float, uint64_t>},           \
        {segment "_atomic_max_f64", &handler<AtomicOperation::maximum_float, uint64_t>},           \
        {segment "_atomic_swap_x2", &handler<AtomicOperation::swap, uint64_t>},                    \
        {segment "_atomic_cmpswap_x2", &handler<AtomicOperation::compare_swap, uint64_t>},         \
        {segment "_atomic_add_x2", &handler<AtomicOperation::add, uint64_t>},                      \
        {segment "_atomic_sub_x2", &handler<AtomicOperation::subtract, uint64_t>},                 \
        {segment "_atomic_smin_x2", &handler<AtomicOperation::signed_minimum, uint64_t>},          \
        {segment "_atomic_umin_x2", &handler<AtomicOperation::unsigned_minimum, uint64_t>},        \
        {segment "_atomic_smax_x2", &handler<AtomicOperation::signed_maximum, uint64_t>},          \
        {segment "_atomic_umax_x2", &handler<AtomicOperation::unsigned_maximum, uint64_t>},        \
        {segment "_atomic_and_x2", &handler<AtomicOperation::bit_and, uint64_t>},                  \
        {segment "_atomic_or_x2", &handler<AtomicOperation::bit_or, uint64_t>},                    \
        {segment "_atomic_xor_x2", &handler<AtomicOperation::bit_xor, uint64_t>},                  \
        {segment "_atomic_inc_x2", &handler<AtomicOperation::increment, uint64_t>},                \
    { segment "_atomic_dec_x2", &handler<AtomicOperation::decrement, uint64_t> }

} // namespace ckprof::emulator
