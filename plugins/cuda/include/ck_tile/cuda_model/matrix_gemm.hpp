// SPDX-License-Identifier: MIT
// Engine M: the product of two matrices.
#pragma once

#include "ck_tile/cuda_model/implicit_gemm.hpp"
#include "ck_tile/cuda_model/matrix_config.hpp"
#include "ck_tile/cuda_model/matrix_operands.hpp"
#include "ck_tile/host_model/k_split.hpp"

namespace ck_tile::cuda_model {

// KGrain: steps of K that parts are dealt out in.
template <typename Config, typename TilePartitioner, int KGrain>
__device__ __forceinline__ tile_place find_matrix_place(const matrix_params& p)
{
    const int block  = static_cast<int>(blockIdx.x);
    const int rest   = block / p.tiles;
    const int part   = rest / p.batch;
    const auto index = TilePartitioner(p.m, p.n).GetOutputTileIndex(block - rest * p.tiles);
    const auto range = host_model::split_k_steps(p.k, p.k_batch, KGrain, part);
    tile_place at{};
    at.first_row    = index.m * Config::m;
    at.first_column = index.n * Config::n;
    at.first_group  = rest - part * p.batch;
    at.k_begin      = static_cast<int>(range.begin);
    at.k_end        = static_cast<int>(range.end);
    return at;
}

template <typename Config, typename TilePartitioner, int KGrain, typename Tag>
__global__ void __launch_bounds__(Config::threads, Config::blocks)
    matrix_gemm(const __grid_constant__ matrix_params p)
{
    extern __shared__ __align__(128) char shared[];
    const tile_place at = find_matrix_place<Config, TilePartitioner, KGrain>(p);
    compute_tile<Config> tile;
    accumulate<Config>(p, at, shared, tile);
    const matrix_result<Config> put{p, at, p.k_batch > 1};
    tile.template store<matrix_result<Config>::vector>(shared + shared_layout<Config>::rows_bytes,
                                                       put);
}

} // namespace ck_tile::cuda_model
