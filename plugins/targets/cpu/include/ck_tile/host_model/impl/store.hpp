// SPDX-License-Identifier: MIT
// The epilogue's last step: convert accumulators to the result's type, then store or add
// atomically.
#pragma once

#include <atomic>
#include <cstdint>

#include "ck_tile/host_model/impl/rows.hpp"

namespace ck_tile::host_model::impl {

inline void atomic_add(float* destination, float value, bf16_rounding_mode)
{ std::atomic_ref<float>(*destination).fetch_add(value, std::memory_order_relaxed); }

// 16-bit types: the sum is formed in float and rounded, as a compare-and-swap loop does on a GPU.
// The partial result itself has been rounded to the type before.
template <typename Add>
inline void atomic_add_bits(std::uint16_t& destination, const Add& add)
{
    const std::atomic_ref<std::uint16_t> shared(destination);
    std::uint16_t seen = shared.load(std::memory_order_relaxed);
    while(!shared.compare_exchange_weak(seen, add(seen), std::memory_order_relaxed)) {}
}

inline void atomic_add(half_t* destination, float value, bf16_rounding_mode)
{
    const float rounded = half_bits_to_float(float_to_half_bits(value));
    atomic_add_bits(destination->bits, [rounded](std::uint16_t seen) {
        return float_to_half_bits(half_bits_to_float(seen) + rounded);
    });
}

inline void atomic_add(bf16_t* destination, float value, bf16_rounding_mode rounding)
{
    const float rounded = bf16_bits_to_float(float_to_bf16_bits(value, rounding));
    atomic_add_bits(destination->bits, [rounded, rounding](std::uint16_t seen) {
        return float_to_bf16_bits(bf16_bits_to_float(seen) + rounded, rounding);
    });
}

// How results reach memory: plain stores, or additions of split-K parts to a zeroed result.
struct store_mode
{
    bf16_rounding_mode rounding;
    bool add;
};

template <typename T>
inline void
store_run(const float* source, T* destination, std::int64_t count, const store_mode& mode)
{
    if(!mode.add)
    {
        narrow_run(source, destination, count, mode.rounding);
        return;
    }
    for(std::int64_t i = 0; i < count; ++i)
    {
        atomic_add(destination + i, source[i], mode.rounding);
    }
}

} // namespace ck_tile::host_model::impl
