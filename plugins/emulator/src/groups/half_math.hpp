// SPDX-License-Identifier: MIT
// Fused multiply-adds of fp16, rounded once.
#pragma once

#include "groups/vector_types.hpp"

namespace ckprof::emulator {

// In any rounding mode: products are exact in fp64, sums nearly so; where not, they are too far
// from a tie to matter.
[[gnu::always_inline]] inline F16 fused_half(F16 a, F16 b, F16 c)
{ return F16::rounded(static_cast<double>(a.value) * b.value + c.value); }

// To the nearest, in fp32: the product is exact, and a sum that is not gets an odd last bit, so
// that the second rounding takes no tie for one.
[[gnu::always_inline]] inline F16 fused_half_to_nearest(F16 a, F16 b, F16 c)
{
    const float product = a.value * b.value, sum = product + c.value;
    // exactly what the sum has lost
    const float part  = sum - product;
    const float error = (product - (sum - part)) + (c.value - part);
    const bool lost   = error < 0 || error > 0;
    const auto bits   = std::bit_cast<uint32_t>(sum);
    const bool inward = (std::bit_cast<uint32_t>(error) ^ bits) >> 31 != 0;
    return {std::bit_cast<float>((bits - (lost && inward ? 1 : 0)) | (lost ? 1 : 0))};
}

} // namespace ckprof::emulator
