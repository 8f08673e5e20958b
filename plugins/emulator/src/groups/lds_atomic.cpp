// SPDX-License-Identifier: MIT
// Atomics of LDS. Waves of a workgroup execute on one thread, so that nothing comes between.
#include "groups/atomics.hpp"
#include "groups/lds_access.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

// Whether the second operand in memory order is the first one of the instruction: comparisons have
// what they compare with before what they store.
constexpr bool compares(AtomicOperation operation)
{
    return operation == AtomicOperation::compare_swap ||
           operation == AtomicOperation::compare_swap_float;
}

template <AtomicOperation operation, typename T>
void change_at(Wave& wave,
               const Instruction& i,
               const LdsAccess& access,
               const VectorRegister* first,
               const VectorRegister* second,
               const AtomicResult& result,
               unsigned value = 0)
{
    wave.observe(i,
                 access_of(Space::lds,
                           Access::atomic,
                           access.address,
                           wave.exec(),
                           sizeof(T),
                           i.source[1 + value]));
    if constexpr(compares(operation)) std::swap(first, second);
    change_memory<operation, T, false>(
        access.address, access.lanes, {{first, second}}, result, flushes_in_lds<T>(wave));
}

template <AtomicOperation operation, typename T>
void change(Wave& wave, const Instruction& i)
{
    const LdsAccess access(
        wave, wave.vector[i.source[0].number], static_cast<uint32_t>(i.immediate), sizeof(T));
    const bool returns        = i.destination.kind == Operand::Kind::vector;
    const AtomicResult result = issue_atomic<T>(wave, wave.local_memory, i, returns);
    change_at<operation, T>(wave,
                            i,
                            access,
                            &wave.vector[i.source[1].number],
                            &wave.vector[i.source[2].number],
                            result);
}

// Exchanges two values at offsets in units of values, or of 64 values.
template <typename T, unsigned unit>
void exchange_two(Wave& wave, const Instruction& i)
{
    const LoadResult result =
        issue_load<Element{2 * sizeof(T)}>(wave, wave.local_memory, i, wave.exec(), true);
    constexpr unsigned registers = sizeof(T) / 4;
    for(unsigned k = 0; k < 2; ++k)
    {
        const LdsAccess access(wave,
                               wave.vector[i.source[0].number],
                               i.offset[k] * static_cast<unsigned>(sizeof(T)) * unit,
                               sizeof(T));
        VectorRegister* const* to = result.to + k * registers;
        change_at<AtomicOperation::swap, T>(wave,
                                            i,
                                            access,
                                            &wave.vector[i.source[1 + k].number],
                                            nullptr,
                                            {{to[0], to[registers - 1]}},
                                            k);
    }
}

// Adds (or subtracts) the number of active lanes to a counter that M0 and the offset point to; all
// active lanes get the value before.
template <AtomicOperation operation>
void count(Wave& wave, const Instruction& i)
{
    const LaneMask lanes = wave.exec();
    VectorRegister base;
    fill(base, wave.scalar[scalar::m0] & lds_base_bits(wave));
    const LdsAccess access(wave, base, static_cast<uint32_t>(i.immediate), 4);
    const LaneMask one        = access.lanes & (0 - access.lanes);
    const AtomicResult result = issue_atomic<uint32_t>(wave, wave.local_memory, i, true);
    wave.observe(
        i,
        access_of(Space::lds, Access::atomic, access.address, lanes & (0 - lanes), 4, Operand{}));
    VectorRegister number, old;
    fill(number, static_cast<uint32_t>(std::popcount(lanes)));
    fill(old, 0);
    change_memory<operation, uint32_t, false>(
        access.address, one, {{&number, nullptr}}, {{&old, nullptr}}, false);
    if(one != 0) fill(*result.to[0], old.lane[std::countr_zero(one)]);
}

// Names of an operation without and with a result.
#define BOTH(name, type, operation, value)                                                         \
    {"ds_" #name "_" #type, &change<AtomicOperation::operation, value>},                           \
    { "ds_" #name "_rtn_" #type, &change<AtomicOperation::operation, value> }
// Of 32 and of 64 bits.
#define ALL(name, kind, operation)                                                                 \
    BOTH(name, kind##32, operation, uint32_t), BOTH(name, kind##64, operation, uint64_t)

constexpr NamedHandler handlers[] = {
    ALL(add, u, add),
    ALL(sub, u, subtract),
    ALL(rsub, u, subtract_from),
    ALL(inc, u, increment),
    ALL(dec, u, decrement),
    ALL(min, i, signed_minimum),
    ALL(max, i, signed_maximum),
    ALL(min, u, unsigned_minimum),
    ALL(max, u, unsigned_maximum),
    ALL(and, b, bit_and),
    ALL(or, b, bit_or),
    ALL(xor, b, bit_xor),
    ALL(mskor, b, mask_or),
    ALL(cmpst, b, compare_swap),
    ALL(cmpst, f, compare_swap_float),
    ALL(min, f, minimum_float),
    ALL(max, f, maximum_float),
    ALL(add, f, add_float),
    BOTH(pk_add, f16, add_two_f16, uint32_t),
    BOTH(pk_add, bf16, add_two_bf16, uint32_t),
    {"ds_wrxchg_rtn_b32", &change<AtomicOperation::swap, uint32_t>},
    {"ds_wrxchg_rtn_b64", &change<AtomicOperation::swap, uint64_t>},
    {"ds_wrap_rtn_b32", &change<AtomicOperation::wrap, uint32_t>},
    {"ds_condxchg32_rtn_b64", &change<AtomicOperation::conditional_swap, uint64_t>},
    {"ds_wrxchg2_rtn_b32", &exchange_two<uint32_t, 1>},
    {"ds_wrxchg2st64_rtn_b32", &exchange_two<uint32_t, 64>},
    {"ds_wrxchg2_rtn_b64", &exchange_two<uint64_t, 1>},
    {"ds_wrxchg2st64_rtn_b64", &exchange_two<uint64_t, 64>},
    {"ds_append", &count<AtomicOperation::add>},
    {"ds_consume", &count<AtomicOperation::subtract>},
};
#undef ALL
#undef BOTH

} // namespace

HandlerTable lds_atomic_handlers() { return handlers; }

} // namespace ckprof::emulator
