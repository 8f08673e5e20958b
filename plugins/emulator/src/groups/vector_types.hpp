// SPDX-License-Identifier: MIT
// Types of lanes: how the bits of registers become values of operations, and back.
#pragma once

#include <bit>
#include <cstdint>

#include "core/lanes.hpp"
#include "groups/small_float.hpp"

namespace ckprof::emulator {

// What modifiers and denormals mean for an operand.
enum class Format : uint8_t
{
    bits16,
    bits32,
    bits64,
    float16,
    float32,
    float64,
    signed32, // bits that can be negated as fp32 and are not flushed
};

constexpr bool is_float(Format format)
{ return format == Format::float16 || format == Format::float32 || format == Format::float64; }
constexpr bool is_16_bits(Format format)
{ return format == Format::float16 || format == Format::bits16; }
constexpr unsigned dwords_of(Format format)
{ return format == Format::bits64 || format == Format::float64 ? 2 : 1; }

// fp16 as the exact value, or as an fp32 value that is still to be rounded: two roundings to the
// nearest give what one does for sums, products, quotients and square roots.
struct F16
{
    float value;

    // Of fused operations, whose fp64 value has to be rounded once.
    [[gnu::always_inline]] static F16 rounded(double value)
    {
        constexpr uint64_t sign = uint64_t{1} << 63;
        const auto bits         = std::bit_cast<uint64_t>(value);
        uint64_t exponent       = bits & 0x7ff0000000000000;
        exponent                = exponent < uint64_t{1009} << 52 ? uint64_t{1009} << 52 : exponent;
        // infinities and NaN go through
        exponent         = exponent > uint64_t{1060} << 52 ? uint64_t{1060} << 52 : exponent;
        const auto magic = std::bit_cast<double>(
            (exponent + (uint64_t{42} << 52) + (uint64_t{1} << 51)) | (bits & sign));
        const auto kept = std::bit_cast<uint64_t>((value + magic) - magic);
        return {static_cast<float>(std::bit_cast<double>((kept & ~sign) | (bits & sign)))};
    }
};

// bf16, exact.
struct BF16
{ float value; };

// A result of 16 bits that leaves the other half of its register as it is; others clear it.
template <typename T>
struct Kept
{
    T value;
};

// Bits that abs and neg change as if they were fp32.
struct Signed32
{ uint32_t bits; };

// from: a value of a register's bits (of two where the type has 64); low and high: back.
template <typename T>
struct Lane;

template <>
struct Lane<uint32_t>
{
    static constexpr Format format = Format::bits32;
    static uint32_t from(uint32_t low, uint32_t) { return low; }
    static uint32_t low(uint32_t value) { return value; }
};

template <>
struct Lane<int32_t>
{
    static constexpr Format format = Format::bits32;
    static int32_t from(uint32_t low, uint32_t) { return static_cast<int32_t>(low); }
    static uint32_t low(int32_t value) { return static_cast<uint32_t>(value); }
};

template <>
struct Lane<Signed32>
{
    static constexpr Format format = Format::signed32;
    static Signed32 from(uint32_t low, uint32_t) { return {low}; }
    static uint32_t low(Signed32 value) { return value.bits; }
};

template <>
struct Lane<uint16_t>
{
    static constexpr Format format = Format::bits16;
    static uint16_t from(uint32_t low, uint32_t) { return static_cast<uint16_t>(low); }
    static uint32_t low(uint16_t value) { return value; }
};

template <>
struct Lane<int16_t>
{
    static constexpr Format format = Format::bits16;
    static int16_t from(uint32_t low, uint32_t) { return static_cast<int16_t>(low); }
    static uint32_t low(int16_t value) { return static_cast<uint16_t>(value); }
};

template <>
struct Lane<float>
{
    static constexpr Format format = Format::float32;
    static float from(uint32_t low, uint32_t) { return std::bit_cast<float>(low); }
    static uint32_t low(float value) { return std::bit_cast<uint32_t>(value); }
};

template <>
struct Lane<F16>
{
    static constexpr Format format = Format::float16;
    static F16 from(uint32_t low, uint32_t) { return {value_of_half(low)}; }
    static uint32_t low(F16 value) { return half_of_value(value.value); }
};

template <>
struct Lane<BF16>
{
    static constexpr Format format = Format::bits16;
    static BF16 from(uint32_t low, uint32_t) { return {value_of_bfloat16(low)}; }
};

template <>
struct Lane<uint64_t>
{
    static constexpr Format format = Format::bits64;
    static uint64_t from(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }
    static uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
    static uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
};

template <>
struct Lane<int64_t>
{
    static constexpr Format format = Format::bits64;
    static int64_t from(uint32_t low, uint32_t high)
    { return static_cast<int64_t>(low | uint64_t{high} << 32); }
    static uint32_t low(int64_t value) { return static_cast<uint32_t>(value); }
    static uint32_t high(int64_t value)
    { return static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32); }
};

template <>
struct Lane<double>
{
    static constexpr Format format = Format::float64;
    static double from(uint32_t low, uint32_t high)
    { return std::bit_cast<double>(low | uint64_t{high} << 32); }
    static uint32_t low(double value)
    { return static_cast<uint32_t>(std::bit_cast<uint64_t>(value)); }
    static uint32_t high(double value)
    { return static_cast<uint32_t>(std::bit_cast<uint64_t>(value) >> 32); }
};

template <typename T>
struct Lane<Kept<T>> : Lane<T>
{
    static constexpr bool keeps = true;
    static uint32_t low(Kept<T> value) { return Lane<T>::low(value.value); }
};

template <typename T>
constexpr bool keeps_other_half = requires { Lane<T>::keeps; };

} // namespace ckprof::emulator
