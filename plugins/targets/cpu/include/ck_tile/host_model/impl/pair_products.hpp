// SPDX-License-Identifier: MIT
// Sums of products of bf16 by an instruction that takes them in pairs (AVX512-BF16).
#pragma once

#include <bit>
#include <cstdint>

#include "ck_tile/host_model/impl/simd.hpp"

namespace ck_tile::host_model::impl {

using vwords = simd<std::uint32_t, vector_width>;

// What the instruction's manual says, but for subnormal numbers, which it takes for zero: the
// products of the upper halves are added first, then those of the lower ones, each sum rounded to
// nearest even. A product of two bf16 is exact, so it does not matter whether it is fused.
[[gnu::always_inline]] inline vfloat imitated_dot_pairs(vfloat sum, vwords a, vwords b)
{
    constexpr std::uint32_t upper = 0xffff0000u;
    sum += (vfloat)(a & upper) * (vfloat)(b & upper);
    sum += (vfloat)(a << 16) * (vfloat)(b << 16);
    return sum;
}

#if defined(__AVX512BF16__) && defined(__AVX512F__)
inline constexpr bool has_pair_instruction = true;
[[gnu::always_inline]] inline vfloat dot_pairs(vfloat sum, vwords a, vwords b)
{ return (vfloat)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b); }
#else
inline constexpr bool has_pair_instruction = false;
[[gnu::always_inline]] inline vfloat dot_pairs(vfloat sum, vwords a, vwords b)
{ return imitated_dot_pairs(sum, a, b); }
#endif

// The instruction agrees with its manual on numbers whose sums are rounded differently in any other
// order, or if the products are added before they meet the sum.
inline bool pairs_as_documented()
{
    std::uint32_t state = 1;
    const auto draw     = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
    for(int round = 0; round < 64; ++round)
    {
        vwords a{}, b{}, sum{};
        for(int i = 0; i < vector_width; ++i)
        {
            // exponents of 2^-8 to 2^7, any sign and fraction
            const auto half   = [&] { return (draw() & 0x807fu) | (119u + draw() % 16u) << 7; };
            a[i]              = half() << 16 | half();
            b[i]              = half() << 16 | half();
            const auto signum = draw() << 31;
            sum[i]            = signum | (119u + draw() % 16u) << 23 | (draw() & 0x7fffffu);
        }
        const auto computed = (vwords)dot_pairs((vfloat)sum, a, b);
        const auto expected = (vwords)imitated_dot_pairs((vfloat)sum, a, b);
        for(int i = 0; i < vector_width; ++i)
        {
            if(computed[i] != expected[i]) { return false; }
        }
    }
    return true;
}

} // namespace ck_tile::host_model::impl
