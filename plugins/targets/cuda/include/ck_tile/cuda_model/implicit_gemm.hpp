// SPDX-License-Identifier: MIT
// Engine M: the implicit GEMM of every direction by asynchronous copies, with tensor cores for
// 16-bit types and TF32 and fused multiply-adds for fp32.
#pragma once

#include <type_traits>

#include "ck_tile/cuda_model/ffma_tile.hpp"
#include "ck_tile/cuda_model/load_stage.hpp"
#include "ck_tile/cuda_model/mma_tile.hpp"
#include "ck_tile/cuda_model/result.hpp"
#include "ck_tile/host_model/k_split.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
using compute_tile =
    std::conditional_t<Config::ab_type == data_type::fp32, ffma_tile<Config>, mma_tile<Config>>;

// Shared memory: the windows of the tile's rows, then the stages, which the result's way to memory
// uses afterwards.
template <typename Config>
struct shared_layout
{
    static constexpr int rows_bytes =
        operands<Config>::a_windowed
            ? (Config::m * static_cast<int>(sizeof(address_part)) + 127) / 128 * 128
            : 0;
    static constexpr int stages_bytes  = Config::stages * Config::stage_bytes;
    static constexpr int staging_bytes = compute_tile<Config>::staging_bytes;
    static constexpr int bytes =
        rows_bytes + (stages_bytes > staging_bytes ? stages_bytes : staging_bytes);
};

// Leaves the sum over the place's range of K in the tile's accumulators. All threads of the block
// take part; shared memory is free for other uses afterwards.
template <typename Config, typename Params>
__device__ __forceinline__ void
accumulate(const Params& p, const tile_place& at, char* shared, compute_tile<Config>& tile)
{
    using layout = shared_layout<Config>;
    auto* rows   = reinterpret_cast<address_part*>(shared);
    const operands<Config> source{p, at, rows};
    const std::uint32_t stages = shared_address(shared + layout::rows_bytes);
    const int steps = at.k_end <= at.k_begin ? 0 : (at.k_end - at.k_begin - 1) / Config::k + 1;

    tile.clear();
    if constexpr(operands<Config>::a_windowed)
    {
        for(int line = threadIdx.x; line < Config::m; line += Config::threads)
        {
            rows[line] = source.make_row(line);
        }
        __syncthreads();
    }
    const auto load = [&](int step) {
        if(step < steps)
        {
            load_stage<Config>(source,
                               stages + step % Config::stages * Config::stage_bytes,
                               at.k_begin + step * Config::k);
        }
        commit_copies();
    };
    constexpr int ahead = Config::stages - 1;
#pragma unroll
    for(int step = 0; step < ahead; ++step) { load(step); }
    for(int step = 0; step < steps; ++step)
    {
        if constexpr(ahead == 0)
        {
            load(step);
            wait_copies<0>();
            __syncthreads();
            tile.multiply_stage(stages);
            __syncthreads();
        }
        else
        {
            wait_copies<ahead - 1>();
            __syncthreads();
            load(step + ahead);
            tile.multiply_stage(stages + step % Config::stages * Config::stage_bytes);
        }
    }
    wait_copies<0>();
    __syncthreads();
}

// The block's place in a grid that was laid out along x, x fastest.
struct grid_place
{ int x, y, z; };

__device__ __forceinline__ grid_place find_grid_place(const gemm_params& p)
{
    const auto across    = static_cast<unsigned>(p.blocks_x);
    const auto down      = static_cast<unsigned>(p.blocks_y);
    const unsigned row   = blockIdx.x / across;
    const unsigned depth = row / down;
    return {static_cast<int>(blockIdx.x - row * across),
            static_cast<int>(row - depth * down),
            static_cast<int>(depth)};
}

template <typename Config, typename TilePartitioner>
__device__ __forceinline__ tile_place find_tile_place(const gemm_params& p)
{
    const grid_place block = find_grid_place(p);
    tile_place at{};
    int tile  = block.x;
    int depth = p.k;
    if constexpr(Config::direction == direction::backward_data)
    {
        // Blocks of the sub-GEMMs follow one another, remainders along W fastest.
        int gemm = tile / p.tiles;
        tile -= gemm * p.tiles;
        depth = p.out_channels;
#pragma unroll
        for(int axis = 2; axis >= 0; --axis)
        {
            at.remainder[axis] = gemm % p.remainders[axis];
            gemm /= p.remainders[axis];
            const bool fewer = at.remainder[axis] >= p.full_taps[axis];
            depth *= static_cast<int>(p.taps[axis][fewer ? 1 : 0].divisor);
        }
    }
    const auto index = TilePartitioner(p.m, p.n).GetOutputTileIndex(tile);
    at.first_row     = index.m * Config::m;
    at.first_column  = index.n * Config::n;
    at.first_group   = block.y * Config::merged;

    const int part = Config::direction == direction::forward ? 0 : block.z % p.k_batch;
    if constexpr(Config::direction != direction::backward_weight)
    {
        at.first_image = block.z / p.k_batch * p.images_per_split;
    }
    const auto range = p.explicit_gemm
                           ? host_model::split_k_steps(depth, p.k_batch, p.k_grain, part)
                           : host_model::split_k_tiles(depth, p.k_batch, p.k_grain, part);
    at.k_begin       = static_cast<int>(range.begin);
    at.k_end         = static_cast<int>(range.end);
    return at;
}

// Tag tells instances apart whose machine code shall not be shared.
template <typename Config, typename TilePartitioner, typename Tag>
__global__ void __launch_bounds__(Config::threads, Config::blocks)
    implicit_gemm(const __grid_constant__ gemm_params p)
{
    extern __shared__ __align__(128) char shared[];
    const tile_place at = find_tile_place<Config, TilePartitioner>(p);
    compute_tile<Config> tile;
    accumulate<Config>(p, at, shared, tile);
    const result_place<Config> put{p, at, p.k_batch > 1};
    tile.template store<result_place<Config>::vector>(shared + shared_layout<Config>::rows_bytes,
                                                      put);
}

} // namespace ck_tile::cuda_model
