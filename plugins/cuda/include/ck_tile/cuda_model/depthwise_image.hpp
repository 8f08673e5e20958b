// SPDX-License-Identifier: MIT
// Outputs, or gradients of inputs, of groups with one channel: a lane keeps the weights of its
// channel and adds up a tile of results.
#pragma once

#include "ck_tile/cuda_model/depthwise_walk.hpp"

namespace ck_tile::cuda_model {

// Weights beyond the filter are zeros.
template <host_model::data_type Type, typename Tile>
__device__ __forceinline__ void
load_weights(float (&weight)[Tile::size][Tile::size], const depthwise_plan& p, int channel)
{
    const int height = p.filter[0], width = p.filter[1];
    const auto* from = static_cast<const stored_t<Type>*>(p.other) +
                       static_cast<std::int64_t>(channel) * height * width;
#pragma unroll
    for(int i = 0; i < Tile::size; ++i)
    {
        const int y = p.mirrored ? Tile::size - 1 - i : i;
#pragma unroll
        for(int j = 0; j < Tile::size; ++j)
        {
            const int x       = p.mirrored ? Tile::size - 1 - j : j;
            const bool exists = channel < p.groups && y < height && x < width;
            weight[i][j]      = exists ? widen<Type>(from[y * width + x]) : 0.f;
        }
    }
}

template <host_model::data_type Type, bf16_rounding_mode Rounding, typename Tile>
__global__ void __launch_bounds__(32 * depthwise_most_warps, depthwise_resident<Tile::size>)
    depthwise_image(const __grid_constant__ depthwise_plan p)
{
    extern __shared__ __align__(128) char shared[];
    depthwise_walk<Type, Tile, false> walk(p, shared);
    lane_copies<Type, Tile, false> copies(p, walk.at, shared_address(shared));
    float weight[Tile::size][Tile::size];
    load_weights<Type, Tile>(weight, p, walk.channel);
    walk.run(copies, [&](int image, int first_row) {
        float result[Tile::rows][Tile::columns] = {};
        add_window<Type, Tile>(walk, [&](float value, int i, int j, int y, int x) {
            result[i][j] += weight[y][x] * value;
        });
        if(walk.channel >= p.groups) { return; }
#pragma unroll
        for(int i = 0; i < Tile::rows; ++i)
        {
            const int row = first_row + i;
            if(static_cast<unsigned>(row) >= static_cast<unsigned>(p.positions[0])) { continue; }
            auto* to = static_cast<stored_t<Type>*>(p.result) +
                       ((static_cast<std::int64_t>(image) * p.positions[0] + row) * p.positions[1] +
                        walk.first_position) *
                           p.groups +
                       walk.channel;
#pragma unroll
            for(int j = 0; j < Tile::columns; ++j)
            {
                if(static_cast<unsigned>(walk.first_position + j) <
                   static_cast<unsigned>(p.positions[1]))
                {
                    *to = narrow<Type, Rounding>(result[i][j]);
                }
                to += p.groups;
            }
        }
    });
}

} // namespace ck_tile::cuda_model
