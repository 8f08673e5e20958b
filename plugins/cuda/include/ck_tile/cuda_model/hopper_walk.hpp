// SPDX-License-Identifier: MIT
// The order in which the persistent blocks of engine W take tiles. Usable without a GPU.
#pragma once

#include "ck_tile/cuda_model/hopper_params.hpp"
#include "ck_tile/cuda_model/tile_place.hpp"

namespace ck_tile::cuda_model {

// One tile of the walk, and the steps of 64 of its reduction.
struct hopper_tile_place
{
    tile_place at;
    int first_chunk; // of columns; backward weight
    int number;      // of the tile of the result, without the part of K
    int step_begin, step_end;
};

template <typename Config>
CK_TILE_CUDA_BOTH inline hopper_tile_place find_hopper_place(const hopper_work& w, int tile)
{
    constexpr bool data   = Config::direction == direction::backward_data;
    constexpr bool weight = Config::direction == direction::backward_weight;
    const gemm_params& g  = w.g;
    hopper_tile_place place{};
    const int without_n = w.n_tiles.quotient(tile);
    const int n         = w.n_tiles.remainder(tile, without_n);
    const int without_m = w.m_tiles.quotient(without_n);
    const int m         = w.m_tiles.remainder(without_n, without_m);
    const int rest      = data ? w.gemms.quotient(without_m) : without_m;
    int gemm            = data ? w.gemms.remainder(without_m, rest) : 0;
    const int z         = w.batch.quotient(rest);
    const int batch     = w.batch.remainder(rest, z);

    place.at.first_row    = m * Config::tile_m;
    place.at.first_column = n * Config::tile_n;
    place.at.first_group  = batch * Config::merged;
    place.first_chunk     = n * Config::column_chunks;
    place.number =
        (batch * static_cast<int>(w.m_tiles.divisor) + m) * static_cast<int>(w.n_tiles.divisor) + n;
    int steps = 0;
    if constexpr(weight) { steps = (w.pixels + hopper_k - 1) / hopper_k; }
    else
    {
        steps = static_cast<int>(w.chunks.divisor);
        for(int axis = 2; axis >= 0; --axis)
        {
            bool fewer = false;
            if constexpr(data)
            {
                // Divisions take long, and most problems have one GEMM.
                if(g.gemms > 1)
                {
                    place.at.remainder[axis] = gemm % g.remainders[axis];
                    gemm /= g.remainders[axis];
                }
                fewer = place.at.remainder[axis] >= g.full_taps[axis];
            }
            steps *= static_cast<int>(g.taps[axis][fewer ? 1 : 0].divisor);
        }
    }
    const int split = w.parts.quotient(z);
    const int part  = w.parts.remainder(z, split);
    if constexpr(!weight) { place.at.first_image = split * g.images_per_split; }
    const int length = w.parts.quotient(steps + g.k_batch - 1);
    place.step_begin = part * length < steps ? part * length : steps;
    place.step_end   = place.step_begin + length < steps ? place.step_begin + length : steps;
    return place;
}

} // namespace ck_tile::cuda_model
