// SPDX-License-Identifier: MIT
// Engine M: the implicit GEMM of every direction by asynchronous copies, with tensor cores for
// 16-bit types and TF32 and fused multiply-adds for fp32.
#pragma once

#include <type_traits>

#include "ck_tile/cuda_model/ffma_tile.hpp"
#include "ck_tile/cuda_model/mma_tile.hpp"
#include "ck_tile/cuda_model/operand_copies.hpp"
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
        operands<Config>::a_kind == line_kind::windows
            ? (Config::m * static_cast<int>(sizeof(window_row)) + 127) / 128 * 128
            : 0;
    static constexpr int stages_bytes  = Config::stages * Config::stage_bytes;
    static constexpr int staging_bytes = compute_tile<Config>::staging_bytes;
    static constexpr int bytes =
        rows_bytes + (stages_bytes > staging_bytes ? stages_bytes : staging_bytes);
};

// Adds the products of the place's range of K to the tile's accumulators. All threads of the block
// take part; shared memory is free for other uses afterwards.
template <typename Config>
__device__ __forceinline__ void
add_products(const operands<Config>& source, std::uint32_t stages, compute_tile<Config>& tile)
{
    const tile_place& at = source.at;
    const int steps      = at.k_end <= at.k_begin ? 0 : (at.k_end - at.k_begin - 1) / Config::k + 1;

    operand_copies<Config, operand_a<Config>> a(source, at.k_begin);
    operand_copies<Config, operand_b<Config>> b(source, at.k_begin);
    constexpr int copies = a.count + b.count, parts = compute_tile<Config>::copy_parts;
    // A part of the copies to a stage; after the end of K they are of zeros.
    const auto copy = [&](std::uint32_t stage, int part, int of) {
        if(part == 0)
        {
            a.advance();
            b.advance();
        }
#pragma unroll
        for(int i = 0; i < a.count; ++i)
        {
            if(i * of / copies == part) { a.copy(i, stage); }
        }
#pragma unroll
        for(int i = 0; i < b.count; ++i)
        {
            if((a.count + i) * of / copies == part) { b.copy(i, stage); }
        }
    };

    constexpr int ahead         = Config::stages - 1;
    constexpr std::uint32_t all = Config::stages * Config::stage_bytes;
    if constexpr(ahead == 0)
    {
        for(int step = 0; step < steps; ++step)
        {
            copy(stages, 0, 1);
            commit_copies();
            wait_copies<0>();
            __syncthreads();
            tile.begin(stages);
            tile.multiply_stage(stages, [](int) {}, [&] { return stages; });
            __syncthreads();
        }
    }
    else
    {
        std::uint32_t read = stages, written = stages;
        const auto next = [&](std::uint32_t stage) {
            const std::uint32_t following = stage + Config::stage_bytes;
            return following == stages + all ? stages : following;
        };
#pragma unroll 1
        for(int step = 0; step < ahead; ++step)
        {
            copy(written, 0, 1);
            commit_copies();
            written = next(written);
        }
        // The oldest stage is complete, for all threads.
        const auto finish = [&] {
            wait_copies<ahead - 1>();
            __syncthreads();
        };
        finish();
        tile.begin(read);
#pragma unroll 1
        for(int step = 0; step < steps; ++step)
        {
            const std::uint32_t following = next(read);
            tile.multiply_stage(
                read,
                [&](int part) { copy(written, part, parts); },
                [&] {
                    commit_copies();
                    finish();
                    return following;
                });
            read    = following;
            written = next(written);
        }
        wait_copies<0>();
        __syncthreads();
    }
}

// Leaves the sum over the place's range of K in the tile's accumulators, as add_products() does.
template <typename Config, typename Params>
__device__ __forceinline__ void
accumulate(const Params& p, const tile_place& at, char* shared, compute_tile<Config>& tile)
{
    using layout               = shared_layout<Config>;
    auto* rows                 = reinterpret_cast<window_row*>(shared);
    const std::uint32_t stages = shared_address(shared + layout::rows_bytes);

    tile.clear();
    if constexpr(operands<Config>::a_kind != line_kind::windows)
    {
        add_products<Config>({p, at, rows, 0}, stages, tile);
    }
    else
    {
        // As many taps at a time as the masks of rows are about.
        tile_place turn = at;
        while(turn.k_begin < at.k_end)
        {
            turn.first_tap = p.channels.quotient(turn.k_begin);
            const std::int64_t end =
                (std::int64_t{turn.first_tap} + masked_taps) * p.channels.divisor;
            turn.k_end = end < at.k_end ? static_cast<int>(end) : at.k_end;
            operands<Config> source{p, turn, rows, 0};
            source.first_window = source.window(at.first_row / Config::merged).offset;
            for(int line = threadIdx.x; line < Config::m; line += Config::threads)
            {
                rows[line] = source.make_row(line);
            }
            __syncthreads();
            add_products<Config>(source, stages, tile);
            turn.k_begin = turn.k_end;
        }
        __syncthreads();
    }
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

// Tag tells instances apart whose machine code shall not be shared. It is the first parameter here
// and of engine W's kernels: of several types of one launcher, the operation's among them, a symbol
// spells out the first.
template <typename Tag, typename Config, typename TilePartitioner>
__global__ void __launch_bounds__(Config::threads, Config::blocks)
    implicit_gemm(const __grid_constant__ gemm_params p,
                  const __grid_constant__ typename Config::fused fused)
{
    extern __shared__ __align__(128) char shared[];
    const tile_place at = find_tile_place<Config, TilePartitioner>(p);
    compute_tile<Config> tile;
    accumulate<Config>(p, at, shared, tile);
    const result_place<Config> put{p, at, p.k_batch > 1, fused};
    tile.template store<result_place<Config>::vector>(shared + shared_layout<Config>::rows_bytes,
                                                      put);
}

} // namespace ck_tile::cuda_model
