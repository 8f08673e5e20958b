// SPDX-License-Identifier: MIT
// 8-bit floating point in the two encodings of AMD's GPUs, held as bits.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "ck_tile/core/config.hpp"

namespace ck_tile {

// What the codes without a finite value mean.
enum class float8_specials
{
    fnuz,     // the code of minus zero is the only NaN; no infinity
    nan_only, // the largest magnitude is NaN; no infinity (OCP E4M3)
    ieee      // the largest exponent holds infinity and NaN (OCP E5M2)
};

// Sign, exponent and fraction from the highest bit to the lowest.
template <int FractionBits, int Bias, float8_specials Specials>
struct float8_format
{
    static constexpr int fraction_bits        = FractionBits;
    static constexpr int bias                 = Bias;
    static constexpr float8_specials specials = Specials;

    static constexpr std::uint8_t nan = Specials == float8_specials::fnuz ? 0x80 : 0x7f;
    // Code of the largest finite magnitude.
    static constexpr std::uint8_t largest = Specials == float8_specials::fnuz       ? 0x7f
                                            : Specials == float8_specials::nan_only ? 0x7e
                                                                                    : 0x7b;
};

using e4m3_fnuz = float8_format<3, 8, float8_specials::fnuz>;
using e5m2_fnuz = float8_format<2, 16, float8_specials::fnuz>;
using e4m3_ocp  = float8_format<3, 7, float8_specials::nan_only>;
using e5m2_ocp  = float8_format<2, 15, float8_specials::ieee>;

// Exact.
template <typename Format>
constexpr float float8_bits_to_float(std::uint8_t bits)
{
    constexpr int F              = Format::fraction_bits;
    const std::uint32_t sign     = static_cast<std::uint32_t>(bits & 0x80u) << 24;
    const std::uint32_t code     = bits & 0x7fu;
    const std::uint32_t exponent = code >> F;
    const std::uint32_t fraction = code & ((1u << F) - 1);

    const float quiet_nan = std::numeric_limits<float>::quiet_NaN();
    if constexpr(Format::specials == float8_specials::fnuz)
    {
        if(bits == Format::nan) { return quiet_nan; }
    }
    else if(code > Format::largest)
    {
        const bool infinite = Format::specials == float8_specials::ieee && fraction == 0;
        return infinite ? std::bit_cast<float>(sign | 0x7f800000u) : quiet_nan;
    }
    if(exponent == 0)
    {
        // The unit of subnormals, 2^(1 - bias - F), is a normal float.
        const float unit =
            std::bit_cast<float>(static_cast<std::uint32_t>(128 - Format::bias - F) << 23);
        const float magnitude = static_cast<float>(fraction) * unit;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
    }
    return std::bit_cast<float>(sign | ((exponent + 127u - Format::bias) << 23) |
                                (fraction << (23 - F)));
}

// To nearest, ties to even. What is too large, infinity included, becomes the largest finite value;
// NaN stays NaN.
template <typename Format>
constexpr std::uint8_t float_to_float8_bits(float value)
{
    constexpr int F               = Format::fraction_bits;
    const std::uint32_t bits      = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign      = (bits >> 24) & 0x80u;
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if(magnitude > 0x7f800000u) { return static_cast<std::uint8_t>(sign | Format::nan); }

    std::uint32_t code                    = 0;
    constexpr std::uint32_t lowest_normal = (128u - Format::bias) << 23;
    if(magnitude < lowest_normal)
    {
        // Adding this puts a float's last bit at the unit of subnormals, so that the addition
        // rounds.
        const float shift =
            std::bit_cast<float>(static_cast<std::uint32_t>(128 - Format::bias - F + 23) << 23);
        const float shifted = std::bit_cast<float>(magnitude) + shift;
        code = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(shift);
    }
    else
    {
        const std::uint32_t rounded =
            magnitude + ((1u << (22 - F)) - 1u) + ((magnitude >> (23 - F)) & 1u);
        code = (rounded >> (23 - F)) - ((127u - Format::bias) << F);
    }
    if(code > Format::largest) { code = Format::largest; }
    // There is no minus zero where its code is NaN.
    if(Format::specials == float8_specials::fnuz && code == 0) { return 0; }
    return static_cast<std::uint8_t>(sign | code);
}

template <typename Format_>
struct float8
{
    using Format = Format_;

    std::uint8_t bits = 0;

    constexpr float8() = default;
    explicit constexpr float8(float value) : bits(float_to_float8_bits<Format>(value)) {}
    explicit constexpr float8(double value) : float8(static_cast<float>(value)) {}
    explicit constexpr float8(int value) : float8(static_cast<float>(value)) {}
    constexpr operator float() const { return float8_bits_to_float<Format>(bits); }
};

#if CK_TILE_USE_OCP_FP8
using fp8_t = float8<e4m3_ocp>;
using bf8_t = float8<e5m2_ocp>;
#else
using fp8_t = float8<e4m3_fnuz>;
using bf8_t = float8<e5m2_fnuz>;
#endif

static_assert(sizeof(fp8_t) == 1 && sizeof(bf8_t) == 1);

} // namespace ck_tile
