// SPDX-License-Identifier: MIT
// Splitting of the batch so that one launch's tensors stay within 2 GiB of addressing.
#pragma once

#include <cstdint>

#include "ck_tile/host_model/conv_shape.hpp"

namespace ck_tile::host_model {

// Images per split. The bound is computed with 4 bytes per element whatever the type, on one
// group's elements of the larger of input and output. If no divisor of N gives small enough splits
// among those tried (d*d <= N), every image is a split of its own.
constexpr std::int64_t images_per_split(const conv_shape& shape)
{
    constexpr std::int64_t limit = std::int64_t{1} << 31;
    // In floating point: the support test comes later, and the product may exceed 64 bits.
    const auto bytes = [&](std::int64_t channels, const std::int64_t (&lengths)[3]) {
        return 4.0 * static_cast<double>(shape.N) * static_cast<double>(channels) *
               static_cast<double>(lengths[0]) * static_cast<double>(lengths[1]) *
               static_cast<double>(lengths[2]);
    };
    const double in_bytes  = bytes(shape.C, shape.input);
    const double out_bytes = bytes(shape.K, shape.output);
    const double most      = in_bytes > out_bytes ? in_bytes : out_bytes;
    if(most <= static_cast<double>(limit)) { return shape.N; }

    const double quotient = most / static_cast<double>(limit);
    if(quotient > static_cast<double>(shape.N)) { return 1; }
    auto divisor = static_cast<std::int64_t>(quotient);
    if(static_cast<double>(divisor) < quotient) { ++divisor; }
    if(divisor > shape.N) { return 1; }
    for(std::int64_t d = divisor; d * d <= shape.N; ++d)
    {
        if(shape.N % d == 0) { return shape.N / d; }
    }
    return 1;
}

} // namespace ck_tile::host_model
