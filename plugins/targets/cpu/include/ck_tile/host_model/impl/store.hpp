// SPDX-License-Identifier: MIT
// The epilogue's last step: convert accumulators to the result's type, then store or add.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ck_tile/host_model/impl/rows.hpp"

namespace ck_tile::host_model::impl {

// How results reach memory: plain stores, or additions of split-K parts to a zeroed result.
struct store_mode
{
    bf16_rounding_mode rounding;
    bool add;
};

inline void add_run(const float* source, float* destination, std::int64_t count, bf16_rounding_mode)
{
    for(std::int64_t i = 0; i < count; ++i) { destination[i] += source[i]; }
}

// 16-bit types: the part is rounded to the type, the sum is formed in float and rounded again, as a
// compare-and-swap loop does on a GPU.
template <typename T>
inline void
add_run(const float* source, T* destination, std::int64_t count, bf16_rounding_mode rounding)
{
    constexpr std::int64_t chunk = 64;
    T rounded[chunk];
    float part[chunk], sum[chunk];
    for(std::int64_t at = 0; at < count; at += chunk)
    {
        const std::int64_t length = std::min(chunk, count - at);
        narrow_run(source + at, rounded, length, rounding);
        widen_run(rounded, part, length);
        widen_run(destination + at, sum, length);
        for(std::int64_t i = 0; i < length; ++i) { sum[i] += part[i]; }
        narrow_run(sum, destination + at, length, rounding);
    }
}

// Additions are atomic on a GPU and come in any order. Here the caller holds an ordered_turn, so
// that they come in the order of the parts and repeated runs give the same bits.
template <typename T>
inline void
store_run(const float* source, T* destination, std::int64_t count, const store_mode& mode)
{
    if(mode.add) { add_run(source, destination, count, mode.rounding); }
    else
    {
        narrow_run(source, destination, count, mode.rounding);
    }
}

} // namespace ck_tile::host_model::impl
