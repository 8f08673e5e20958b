// SPDX-License-Identifier: MIT
// Where engine W stores results of backward weight.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/hopper_walk.hpp"

namespace ck_tile::cuda_model {

// Where results of backward weight go: columns come in chunks of one tap.
template <typename Config, typename Element>
struct weight_columns
{
    const hopper_work& w;
    const hopper_tile_place& place;

    // Offset in the weights, negative if there is no such element.
    __device__ __forceinline__ std::int64_t find(int tile_row, int tile_column) const
    {
        const gemm_params& g = w.g;
        const int row        = place.at.first_row + tile_row;
        const int number     = place.first_chunk + tile_column / Config::columns_per_chunk;
        const int tap        = w.chunks.quotient(number);
        const int column     = w.chunks.remainder(number, tap) * Config::columns_per_chunk +
                               tile_column % Config::columns_per_chunk;
        const int taps       = g.filter[0] * g.filter[1] * g.filter[2];
        if(row >= g.m || tap >= taps || column >= g.in_channels * Config::merged) { return -1; }
        int channel = column, channels = g.in_channels;
        if(Config::merged > 1 || w.joined > 1)
        {
            channels /= w.joined;
            channel = column % channels;
            if(column / channels != row / (g.out_channels / w.joined)) { return -1; }
        }
        return ((static_cast<std::int64_t>(place.at.first_group) * g.out_channels + row) * taps +
                tap) *
                   channels +
               channel;
    }
};

__device__ __forceinline__ void add_pieces(float* destination, const float* values, int count)
{
    if(count == 4)
    {
        asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(destination),
                     "f"(values[0]),
                     "f"(values[1]),
                     "f"(values[2]),
                     "f"(values[3])
                     : "memory");
        return;
    }
    for(int i = 0; i < count; ++i) { atomicAdd(destination + i, values[i]); }
}

} // namespace ck_tile::cuda_model
