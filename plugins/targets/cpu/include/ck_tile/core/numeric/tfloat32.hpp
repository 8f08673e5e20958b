// SPDX-License-Identifier: MIT
// TF32: a binary32 with ten bits of fraction, in whose precision operands are multiplied. No tensor
// holds it.
#pragma once

#include <bit>
#include <cstdint>

namespace ck_tile {

// The nearest value with ten bits of fraction, ties to even; NaN stays NaN.
constexpr float round_to_tf32(float value)
{
    constexpr std::uint32_t exponent = 0x7f800000u;
    const auto bits                  = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded      = bits + 0xfffu + ((bits >> 13) & 1u);
    // What is dropped of a NaN must not make it infinite.
    const std::uint32_t special = bits | ((bits & 0x1fffu) != 0 ? 0x400000u : 0u);
    const std::uint32_t kept    = (bits & exponent) == exponent ? special : rounded;
    return std::bit_cast<float>(kept & 0xffffe000u);
}

struct tf32_t
{
    std::uint32_t bits = 0;

    constexpr tf32_t() = default;
    explicit constexpr tf32_t(float value)
        : bits(std::bit_cast<std::uint32_t>(round_to_tf32(value)))
    {}
    constexpr operator float() const { return std::bit_cast<float>(bits); }
};

using tfloat32_t = tf32_t;

static_assert(sizeof(tf32_t) == 4);

} // namespace ck_tile
