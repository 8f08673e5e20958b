// SPDX-License-Identifier: MIT
// What the machine's multiply-add units deliver, measured.
#pragma once

#include <algorithm>
#include <chrono>

#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/impl/simd.hpp"

namespace test {

using ck_tile::host_model::impl::vector_width;
using ck_tile::host_model::impl::vfloat;

inline constexpr int peak_rounds = 4000000;
inline constexpr int chains      = 16; // independent sums, enough to hide the latency

inline void peak_block(const void* context, const ck_tile::host_model::block_position&)
{
    vfloat sums[chains];
    const vfloat factor = *static_cast<const vfloat*>(context);
    const vfloat term   = factor * 0.5f;
#pragma GCC unroll 16
    for(int j = 0; j < chains;
        ++j) // different starts, or the compiler would compute one chain only
    {
        sums[j] = factor * static_cast<float>(j);
    }
    for(int i = 0; i < peak_rounds; ++i)
    {
#pragma GCC unroll 16
        for(vfloat& sum : sums) { sum = sum * factor + term; }
    }
    vfloat total{};
#pragma GCC unroll 16
    for(const vfloat& sum : sums) { total += sum; }
    volatile float sink = total[0];
    (void)sink;
}

// Billions of fp32 operations per second on that many threads.
inline double peak_gflops(int threads)
{
    const vfloat half = vfloat{} + 0.5f;
    const auto run    = [&] {
        const auto start = std::chrono::steady_clock::now();
        ck_tile::host_model::run_grid(dim3(static_cast<unsigned>(threads)), peak_block, &half);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        return 2.0 * vector_width * chains * peak_rounds * threads / elapsed.count() * 1e-9;
    };
    return std::max({run(), run(), run()});
}

} // namespace test
