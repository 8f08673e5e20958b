// SPDX-License-Identifier: MIT
// Weight gradients of groups with one channel: a lane has all sums of its channel. Blocks leave
// partial sums, which a second kernel adds in a fixed order.
#pragma once

#include <algorithm>

#include "ck_tile/cuda_model/depthwise_walk.hpp"

namespace ck_tile::cuda_model {

inline constexpr int depthwise_adders = 8; // warps that share the parts of a sum

// Shared memory of a block: what it stages, and at the end the sums of its warps.
template <host_model::data_type Type, typename Tile>
constexpr int depthwise_weight_bytes(int warps)
{
    return std::max(depthwise_stages<Type, Tile, true>::bytes(warps),
                    warps * Tile::size * Tile::size * depthwise_lanes * 4);
}

// The second kernel may be launched while blocks of the first are running: it takes the place of
// those that have ended, and waits for the others. Devices before compute capability 9.0 start it
// afterwards.
__device__ __forceinline__ void let_adders_launch()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ __forceinline__ void wait_for_parts()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Products of a tile of gradients with the elements of its window.
template <host_model::data_type Type, typename Tile, typename Walk>
__device__ __forceinline__ void add_tile(float (&sum)[Tile::size][Tile::size], const Walk& walk)
{
    float gradient[Tile::rows][Tile::columns];
#pragma unroll
    for(int i = 0; i < Tile::rows; ++i)
    {
        const auto* from = walk.gradients(i);
#pragma unroll
        for(int j = 0; j < Tile::columns; ++j)
        {
            gradient[i][j] = widen<Type>(from[j * depthwise_lanes]);
        }
    }
    add_window<Type, Tile>(walk, [&](float value, int i, int j, int y, int x) {
        sum[y][x] += gradient[i][j] * value;
    });
}

template <host_model::data_type Type, typename Tile>
__global__ void __launch_bounds__(32 * depthwise_most_warps, depthwise_resident<Tile::size>)
    depthwise_weight(const __grid_constant__ depthwise_plan p)
{
    extern __shared__ __align__(128) char shared[];
    let_adders_launch();
    depthwise_walk<Type, Tile, true> walk(p, shared);
    float sum[Tile::size][Tile::size] = {};
    walk.run([&](int, int) { add_tile<Type, Tile>(sum, walk); });

    __syncthreads();
    constexpr int taps = Tile::size * Tile::size;
    auto* sums         = reinterpret_cast<float (*)[taps][depthwise_lanes]>(shared);
#pragma unroll
    for(int tap = 0; tap < taps; ++tap)
    {
        sums[walk.warp][tap][walk.lane] = sum[tap / Tile::size][tap % Tile::size];
    }
    __syncthreads();
    if(walk.channel >= p.groups) { return; }
    const int number = walk.part * p.column_tiles + walk.column_tile;
    float* to = p.partial + static_cast<std::int64_t>(number) * taps * p.groups + walk.channel;
#pragma unroll 8
    for(int tap = walk.warp; tap < taps; tap += p.warps)
    {
        float all = sums[0][tap][walk.lane];
#pragma unroll
        for(int other = 1; other < depthwise_most_warps; ++other)
        {
            if(other < p.warps) { all += sums[other][tap][walk.lane]; }
        }
        to[static_cast<std::int64_t>(tap) * p.groups] = all;
    }
}

// Adds the parts of 32 neighbouring sums, of all taps of a square of so many.
template <host_model::data_type Type, bf16_rounding_mode Rounding>
__global__ void __launch_bounds__(32 * depthwise_adders)
    add_depthwise_parts(const __grid_constant__ depthwise_plan p, int size)
{
    extern __shared__ __align__(128) char shared[];
    auto* sums       = reinterpret_cast<float (*)[32]>(shared);
    const int lane   = static_cast<int>(threadIdx.x) % 32;
    const int adder  = static_cast<int>(threadIdx.x) / 32;
    const int taps   = size * size;
    const int parts  = p.parts * p.column_tiles;
    const int number = static_cast<int>(blockIdx.x) * 32 + lane; // of tap and group
    float sum        = 0.f;
    wait_for_parts();
    if(number < taps * p.groups)
    {
#pragma unroll 8
        for(int part = adder; part < parts; part += depthwise_adders)
        {
            sum += p.partial[static_cast<std::int64_t>(part) * taps * p.groups + number];
        }
    }
    sums[adder][lane] = sum;
    __syncthreads();
    if(adder != 0 || number >= taps * p.groups) { return; }
    for(int other = 1; other < depthwise_adders; ++other) { sum += sums[other][lane]; }
    const int tap = number / p.groups, group = number % p.groups;
    const int y = tap / size, x = tap % size;
    if(y >= p.filter[0] || x >= p.filter[1]) { return; }
    static_cast<stored_t<Type>*>(
        p.result)[(static_cast<std::int64_t>(group) * p.filter[0] + y) * p.filter[1] + x] =
        narrow<Type, Rounding>(sum);
}

} // namespace ck_tile::cuda_model
