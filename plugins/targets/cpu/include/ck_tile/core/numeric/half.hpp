// SPDX-License-Identifier: MIT
// IEEE binary16, held as bits: C++ compilers before GCC 13 have no _Float16.
#pragma once

#include <bit>
#include <cstdint>

namespace ck_tile {

// Exact: every binary16 value is a binary32 value; NaN payloads are kept.
constexpr float half_bits_to_float(std::uint16_t bits)
{
    const std::uint32_t sign     = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    std::uint32_t fraction       = bits & 0x3ffu;
    if(exponent == 0x1fu) { return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13)); }
    if(exponent == 0)
    {
        // A subnormal is fraction * 2^-24, which float represents exactly.
        const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
    }
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

// Round to nearest, ties to even; overflow gives infinity; NaN stays NaN (quiet).
constexpr std::uint16_t float_to_half_bits(float value)
{
    const std::uint32_t bits      = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign      = (bits >> 16) & 0x8000u;
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if(magnitude > 0x7f800000u)
    {
        const std::uint32_t payload = (magnitude >> 13) & 0x3ffu;
        return static_cast<std::uint16_t>(sign | 0x7e00u | payload);
    }
    if(magnitude >= 0x477ff000u) // 65520, the midpoint above the largest half, rounds to infinity
    {
        return static_cast<std::uint16_t>(sign | 0x7c00u);
    }
    if(magnitude < 0x38800000u) // below 2^-14: the unit of the result is 2^-24
    {
        // Adding 0.5 puts a float's last bit at 2^-24, so the addition does the rounding.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<std::uint16_t>(sign |
                                          (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

struct half_t
{
    std::uint16_t bits = 0;

    constexpr half_t() = default;
    explicit constexpr half_t(float value) : bits(float_to_half_bits(value)) {}
    explicit constexpr half_t(double value) : half_t(static_cast<float>(value)) {}
    explicit constexpr half_t(int value) : half_t(static_cast<float>(value)) {}
    constexpr operator float() const { return half_bits_to_float(bits); }
};

using fp16_t = half_t;

static_assert(sizeof(half_t) == 2);

} // namespace ck_tile
