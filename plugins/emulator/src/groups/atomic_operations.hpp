// SPDX-License-Identifier: MIT
// What atomic instructions make of a value in memory. Sums of floating-point numbers round to
// nearest even, whatever the mode of the wave says.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "groups/small_float.hpp"

namespace ckprof::emulator {

enum class AtomicOperation : uint8_t
{
    swap,
    compare_swap, // first operand: what is stored if the second one is what was there
    add,
    subtract,
    subtract_from, // the operand minus what was there
    signed_minimum,
    unsigned_minimum,
    signed_maximum,
    unsigned_maximum,
    bit_and,
    bit_or,
    bit_xor,
    increment,        // back to 0 from the operand on
    decrement,        // back to the operand from 0 on, and from above it
    mask_or,          // clears the bits of the first operand, sets those of the second
    wrap,             // subtracts the first operand if it can, else adds the second
    conditional_swap, // stores the operand without its highest bit if that is set
    add_float,
    minimum_float,
    maximum_float,
    compare_swap_float,
    add_two_f16,
    add_two_bf16,
};

constexpr unsigned atomic_operands(AtomicOperation operation)
{
    using enum AtomicOperation;
    return operation == compare_swap || operation == compare_swap_float || operation == mask_or ||
                   operation == wrap
               ? 2
               : 1;
}

// Of the bits of an fp32 or fp64 number.
template <typename T>
constexpr T without_denormal(T bits)
{
    constexpr bool wide    = sizeof(T) == 8;
    constexpr T sign       = T{1} << (8 * sizeof(T) - 1);
    constexpr T normal     = T{1} << (wide ? 52 : 23);
    const bool is_denormal = (bits & ~sign) < normal;
    return is_denormal ? bits & sign : bits;
}

// What replaces `old`. Sums of fp32 and fp64 read and write denormals as 0 if asked to.
template <AtomicOperation operation, typename T>
T atomic_result(T old, const T (&data)[2], [[maybe_unused]] bool flush_denormals)
{
    using enum AtomicOperation;
    using Signed  = std::make_signed_t<T>;
    using Float   = std::conditional_t<sizeof(T) == 8, double, float>;
    const T a     = data[0];
    const T b     = data[1];
    const auto as = [](T bits) { return std::bit_cast<Float>(bits); };
    if constexpr(operation == swap)
        return a;
    else if constexpr(operation == compare_swap)
        return old == b ? a : old;
    else if constexpr(operation == add)
        return old + a;
    else if constexpr(operation == subtract)
        return old - a;
    else if constexpr(operation == subtract_from)
        return a - old;
    else if constexpr(operation == signed_minimum)
        return static_cast<Signed>(a) < static_cast<Signed>(old) ? a : old;
    else if constexpr(operation == unsigned_minimum)
        return a < old ? a : old;
    else if constexpr(operation == signed_maximum)
        return static_cast<Signed>(a) > static_cast<Signed>(old) ? a : old;
    else if constexpr(operation == unsigned_maximum)
        return a > old ? a : old;
    else if constexpr(operation == bit_and)
        return old & a;
    else if constexpr(operation == bit_or)
        return old | a;
    else if constexpr(operation == bit_xor)
        return old ^ a;
    else if constexpr(operation == increment)
        return old >= a ? 0 : old + 1;
    else if constexpr(operation == decrement)
        return old == 0 || old > a ? a : old - 1;
    else if constexpr(operation == mask_or)
        return (old & ~a) | b;
    else if constexpr(operation == wrap)
        return old >= a ? old - a : old + b;
    else if constexpr(operation == add_float)
    {
        if(flush_denormals)
            return without_denormal(
                std::bit_cast<T>(as(without_denormal(old)) + as(without_denormal(a))));
        return std::bit_cast<T>(as(old) + as(a));
    }
    else if constexpr(operation == minimum_float)
        return as(a) < as(old) ? a : old;
    else if constexpr(operation == maximum_float)
        return as(a) > as(old) ? a : old;
    else if constexpr(operation == compare_swap_float)
        return as(old) == as(b) ? a : old;
    else if constexpr(operation == add_two_f16)
    { // fp32 has more than twice the digits of fp16: rounding twice is rounding once
        const auto sum = [](T x, T y) {
            return half_of_value(value_of_half(x) + value_of_half(y));
        };
        return sum(old & 0xffff, a & 0xffff) | sum(old >> 16, a >> 16) << 16;
    }
    else if constexpr(operation == add_two_bf16)
    {
        const auto sum = [](T x, T y) {
            return bfloat16_to_nearest(value_of_bfloat16(x) + value_of_bfloat16(y));
        };
        return sum(old & 0xffff, a & 0xffff) | sum(old >> 16, a >> 16) << 16;
    }
    else
    {
        static_assert(operation == conditional_swap && sizeof(T) == 8);
        // two independent halves
        const auto half = [](uint64_t was, uint64_t with) {
            return (with & 0x80000000) != 0 ? with & 0x7fffffff : was;
        };
        return half(old & 0xffffffff, a & 0xffffffff) | half(old >> 32, a >> 32) << 32;
    }
}

} // namespace ckprof::emulator
