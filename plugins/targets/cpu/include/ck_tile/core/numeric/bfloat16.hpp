// SPDX-License-Identifier: MIT
// bfloat16 (the upper half of a binary32), held as bits.
#pragma once

#include <bit>
#include <cstdint>

#include "ck_tile/core/config.hpp"

namespace ck_tile {

enum class bf16_rounding_mode
{
    standard       = 0, // nearest, ties to even, NaN kept
    truncate_w_nan = 1, // drop the low half, NaN kept
    truncate       = 2, // drop the low half; a NaN with payload only there becomes infinity
    standard_asm   = 3, // same result as standard
    rta_asm        = 4, // nearest, ties away from zero, NaN kept
};

inline constexpr bf16_rounding_mode default_bf16_rounding_mode =
    static_cast<bf16_rounding_mode>(CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT);

constexpr std::uint16_t float_to_bf16_bits(float value,
                                           bf16_rounding_mode mode = default_bf16_rounding_mode)
{
    std::uint32_t bits      = std::bit_cast<std::uint32_t>(value);
    const bool is_nan       = (bits & 0x7fffffffu) > 0x7f800000u;
    const bool is_finite    = (bits & 0x7f800000u) != 0x7f800000u;
    const bool keep_payload = is_nan && (bits & 0xffffu) != 0;
    switch(mode)
    {
    case bf16_rounding_mode::standard:
    case bf16_rounding_mode::standard_asm:
        if(is_finite) { bits += 0x7fffu + ((bits >> 16) & 1u); }
        else if(keep_payload) { bits |= 0x10000u; }
        break;
    case bf16_rounding_mode::rta_asm:
        if(is_finite) { bits += 0x8000u; }
        else if(keep_payload) { bits |= 0x10000u; }
        break;
    case bf16_rounding_mode::truncate_w_nan:
        if(keep_payload) { bits |= 0x10000u; }
        break;
    case bf16_rounding_mode::truncate: break;
    }
    return static_cast<std::uint16_t>(bits >> 16);
}

constexpr float bf16_bits_to_float(std::uint16_t bits)
{ return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

struct bf16_t
{
    std::uint16_t bits = 0;

    constexpr bf16_t() = default;
    explicit constexpr bf16_t(float value) : bits(float_to_bf16_bits(value)) {}
    explicit constexpr bf16_t(double value) : bf16_t(static_cast<float>(value)) {}
    explicit constexpr bf16_t(int value) : bf16_t(static_cast<float>(value)) {}
    constexpr operator float() const { return bf16_bits_to_float(bits); }
};

using bfloat16_t = bf16_t;

static_assert(sizeof(bf16_t) == 2);

} // namespace ck_tile
