// SPDX-License-Identifier: MIT
// Weight gradients of groups with one channel: a lane has all sums of its channel. Blocks leave
// partial sums, which a second kernel adds in a fixed order.
#pragma once

#include <algorithm>

#include "ck_tile/cuda_model/add_parts.hpp"
#include "ck_tile/cuda_model/depthwise_walk.hpp"

namespace ck_tile::cuda_model {

// Shared memory of a block: what it stages, and at the end the sums of its warps.
template <host_model::data_type Type, typename Tile>
constexpr int depthwise_weight_bytes(const depthwise_plan& p)
{
    return std::max(depthwise_stages<Type, Tile, true>::bytes(p),
                    p.warps * Tile::size * Tile::size * depthwise_lanes * 4);
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

template <host_model::data_type Type, typename Tile, typename Walk, typename Copies>
__device__ __forceinline__ void
add_weights(const depthwise_plan& p, char* shared, Walk& walk, Copies& copies)
{
    float sum[Tile::size][Tile::size] = {};
    walk.run(copies, [&](int, int) { add_tile<Type, Tile>(sum, walk); });

    __syncthreads();
    constexpr int taps = Tile::size * Tile::size;
    auto* sums         = reinterpret_cast<float (*)[taps][depthwise_lanes]>(shared);
#pragma unroll
    for(int tap = 0; tap < taps; ++tap)
    {
        sums[walk.at.warp][tap][walk.at.lane] = sum[tap / Tile::size][tap % Tile::size];
    }
    __syncthreads();
    if(walk.channel >= p.groups) { return; }
    const int number = walk.at.part * p.column_tiles + walk.at.column_tile;
    float* to = p.partial + static_cast<std::int64_t>(number) * taps * p.groups + walk.channel;
#pragma unroll 8
    for(int tap = walk.at.warp; tap < taps; tap += p.warps)
    {
        float all = sums[0][tap][walk.at.lane];
#pragma unroll
        for(int other = 1; other < depthwise_most_warps; ++other)
        {
            if(other < p.warps) { all += sums[other][tap][walk.at.lane]; }
        }
        to[static_cast<std::int64_t>(tap) * p.groups] = all;
    }
}

template <host_model::data_type Type, typename Tile>
__global__ void __launch_bounds__(32 * depthwise_most_warps, depthwise_resident<Tile::size>)
    depthwise_weight(const __grid_constant__ depthwise_plan p)
{
    extern __shared__ __align__(128) char shared[];
    let_dependents_launch();
    depthwise_walk<Type, Tile, true> walk(p, shared);
    lane_copies<Type, Tile, true> copies(p, walk.at, shared_address(shared));
    add_weights<Type, Tile>(p, shared, walk, copies);
}

// Where a sum of the plan belongs: sums have all taps of a square of so many, then all groups.
struct depthwise_weight_place
{
    int groups, size;
    int filter[2];

    __device__ __forceinline__ std::int64_t operator()(std::int64_t number) const
    {
        const int tap   = static_cast<int>(number) / groups,
                  group = static_cast<int>(number) % groups;
        const int y = tap / size, x = tap % size;
        if(y >= filter[0] || x >= filter[1]) { return -1; }
        return (static_cast<std::int64_t>(group) * filter[0] + y) * filter[1] + x;
    }
};

inline parts_to_add<depthwise_weight_place> depthwise_parts(const depthwise_plan& p, int size)
{
    return {p.partial,
            p.result,
            std::int64_t{size} * size * p.groups,
            p.parts * p.column_tiles,
            {p.groups, size, {p.filter[0], p.filter[1]}}};
}

} // namespace ck_tile::cuda_model
