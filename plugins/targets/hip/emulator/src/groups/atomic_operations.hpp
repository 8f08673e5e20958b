// SPDX-License-Identifier: MIT
// What atomic instructions make of a value in memory. Sums of floating-point numbers round to
// nearest even, whatever the mode of the wave says.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

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

inline float float_of_f16(uint32_t bits)
{
    const uint32_t sign = (bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    if(magnitude >= 0x7c00) // infinity, NaN
        return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    // the exponents' biases differ by 112; the product makes denormals normal
    const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

inline uint32_t f16_of_float(float value)
{
    const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000;
    const uint32_t magnitude = bits & 0x7fffffff;
    if(magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
    if(magnitude >= 0x477ff000) return sign | 0x7c00; // from 65520 on
    if(magnitude < 0x38800000)                        // denormal: a multiple of 2^-24
        return sign |
               static_cast<uint32_t>(std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24F));
    const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return sign | (rounded - (112U << 23)) >> 13;
}

inline float float_of_bf16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }

inline uint32_t bf16_of_float(float value)
{
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
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
        const auto sum = [](T x, T y) { return f16_of_float(float_of_f16(x) + float_of_f16(y)); };
        return sum(old & 0xffff, a & 0xffff) | sum(old >> 16, a >> 16) << 16;
    }
    else if constexpr(operation == add_two_bf16)
    {
        const auto sum = [](T x, T y) {
            return bf16_of_float(float_of_bf16(x) + float_of_bf16(y));
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
