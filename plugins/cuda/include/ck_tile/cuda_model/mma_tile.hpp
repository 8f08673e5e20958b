// SPDX-License-Identifier: MIT
// The products of one block's tile on the tensor cores: 16-bit operands, and fp32 rounded to TF32.
#pragma once

#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/cuda_model/fused_operation.hpp"
#include "ck_tile/cuda_model/lane_place.hpp"
#include "ck_tile/cuda_model/ptx.hpp"
#include "ck_tile/cuda_model/tile_config.hpp"

namespace ck_tile::cuda_model {

namespace impl {

struct warp_grid
{ int m, n; };

// The warps of a block over its tile: as the instance wants them if the parts are whole matrices,
// else as many as possible, of the shape that loads least.
constexpr warp_grid arrange_warps(int m, int n, int m_warps, int n_warps)
{
    if(m % (16 * m_warps) == 0 && n % (16 * n_warps) == 0) { return {m_warps, n_warps}; }
    const int warps = m_warps * n_warps;
    warp_grid best{1, 1};
    for(int y = 1; y <= warps; y *= 2)
    {
        for(int x = 1; x * y <= warps; x *= 2)
        {
            if(m % (16 * y) != 0 || n % (16 * x) != 0) { continue; }
            const bool more   = x * y > best.m * best.n;
            const bool equal  = x * y == best.m * best.n;
            const bool better = m / y + n / x < m / best.m + n / best.n;
            if(more || (equal && better)) { best = {y, x}; }
        }
    }
    return best;
}

} // namespace impl

template <typename Config>
struct mma_tile
{
    static constexpr impl::warp_grid grid =
        impl::arrange_warps(Config::m, Config::n, Config::m_warps, Config::n_warps);
    static constexpr int warp_m = Config::m / grid.m;
    static constexpr int warp_n = Config::n / grid.n;
    static constexpr int mf     = warp_m / 16;
    static constexpr int nf     = warp_n / 8;

    // One row of 16x8 matrices of the warp, on its way to memory.
    using staged                            = stored_t<staged_type<Config>>;
    static constexpr int staging_line_bytes = warp_n * static_cast<int>(sizeof(staged)) + 16;
    static constexpr int staging_bytes      = grid.m * grid.n * 16 * staging_line_bytes;

    static constexpr int accumulators = mf * nf * 4;

    // An instruction takes 32 bytes of K: 16 elements, 8 of TF32.
    static constexpr bool tf32   = Config::ab_type == data_type::tf32;
    static constexpr int k_step  = 32 / Config::ab_bytes;
    static constexpr int k_steps = Config::k / k_step;
    static_assert(tf32 || Config::ab_bytes == 2);

    float sum[mf][nf][4];
    // Integers are added up in parts that a float holds exactly.
    int whole[Config::integer ? mf : 1][Config::integer ? nf : 1][4];
    static_assert(!Config::integer || Config::k <= 1024, "a float does not hold these sums");
    int warp_row, warp_column; // first of the warp, in the tile

    __device__ __forceinline__ mma_tile()
    {
        const int warp = threadIdx.x / 32;
        warp_row       = warp / grid.n * warp_m;
        warp_column    = warp % grid.n * warp_n;
    }

    // Warps that have no part of the tile.
    static constexpr bool all_work = grid.m * grid.n * 32 == Config::threads;
    __device__ __forceinline__ static bool idle()
    { return !all_work && threadIdx.x >= grid.m * grid.n * 32; }

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for(auto& row : sum)
#pragma unroll
            for(auto& matrix : row)
#pragma unroll
                for(float& value : matrix) { value = 0; }
#pragma unroll
        for(auto& row : whole)
#pragma unroll
            for(auto& matrix : row)
#pragma unroll
                for(int& value : matrix) { value = 0; }
    }

    // Moves the sums of a stage to those of all.
    __device__ __forceinline__ void take()
    {
#pragma unroll
        for(int i = 0; i < mf; ++i)
#pragma unroll
            for(int j = 0; j < nf; ++j)
#pragma unroll
                for(int e = 0; e < 4; ++e)
                {
                    whole[i][j][e] += static_cast<int>(sum[i][j][e]);
                    sum[i][j][e] = 0;
                }
    }

    // Of 8-bit integers the low bits.
    __device__ __forceinline__ staged result(int i, int j, int e) const
    {
        if constexpr(Config::integer) { return static_cast<staged>(whole[i][j][e]); }
        else
        {
            return narrow<staged_type<Config>, Config::rounding>(sum[i][j][e]);
        }
    }

    // What a step of K multiplies.
    struct fragments
    { std::uint32_t a[mf][4], b[nf / 2][4]; };

    // Those of the next step are on their way while one is multiplied, if registers hold both and
    // what else a thread needs.
    static constexpr bool early = Config::free_registers >= 2 * (mf * 4 + nf * 2) + 56;
    fragments held[early ? 2 : 1];
    lane_place<typename Config::a_layout, false, Config::a_k_major, tf32, warp_m> a_place;
    lane_place<typename Config::b_layout, true, Config::b_k_major, tf32, warp_n> b_place;

    // The copies of a stage are made between the rows of products, in so many parts: before the
    // last step, which waits for the stage that follows.
    static constexpr int copy_steps = k_steps > 1 ? k_steps - 1 : 1;
    static constexpr int copy_parts = copy_steps * mf;

    __device__ __forceinline__ void load_fragments(fragments& to, std::uint32_t stage, int k) const
    {
#pragma unroll
        for(int i = 0; i < mf; ++i) { load(to.a[i], a_place, stage, i, k); }
#pragma unroll
        for(int j = 0; j < nf / 2; ++j) { load(to.b[j], b_place, stage + Config::a_bytes, j, k); }
    }

    // The registers of one matrix of A or of two of B.
    template <typename Place>
    __device__ __forceinline__ static void
    load(std::uint32_t (&r)[4], const Place& place, std::uint32_t tile, int i, int k)
    {
        if constexpr(Place::words)
        {
#pragma unroll
            for(int word = 0; word < 4; ++word) { r[word] = load_word(place.at(tile, i, k, word)); }
        }
        else
        {
            load_matrices<!Place::k_major>(r, place.at(tile, i, k, 0));
        }
        if constexpr(tf32) { round_to_tf32(r); }
    }

    // Before the first stage is multiplied.
    __device__ __forceinline__ void begin(std::uint32_t stage)
    {
        if(idle()) { return; }
        a_place = {warp_row, static_cast<int>(threadIdx.x) % 32};
        b_place = {warp_column, static_cast<int>(threadIdx.x) % 32};
        if constexpr(early) { load_fragments(held[0], stage, 0); }
    }

    // Adds the products of one stage. Calls copy(part) for each part of the copies, then finish(),
    // which returns the next stage when that can be read.
    template <typename Copy, typename Finish>
    __device__ __forceinline__ void
    multiply_stage(std::uint32_t stage, const Copy& copy, const Finish& finish)
    {
        if(idle())
        {
#pragma unroll
            for(int part = 0; part < copy_parts; ++part) { copy(part); }
            finish();
            return;
        }
        if constexpr(k_steps == 1)
        {
#pragma unroll
            for(int part = 0; part < copy_parts; ++part) { copy(part); }
        }
#pragma unroll
        for(int k = 0; k < k_steps; ++k)
        {
            const bool last = k + 1 == k_steps;
            if constexpr(early)
            {
                const std::uint32_t next = last ? finish() : stage;
                load_fragments(held[(k + 1) % 2], next, last ? 0 : k + 1);
            }
            else
            {
                load_fragments(held[0], stage, k);
            }
            const fragments& now = held[early ? k % 2 : 0];
#pragma unroll
            for(int i = 0; i < mf; ++i)
            {
#pragma unroll
                for(int j = 0; j < nf; ++j)
                {
                    multiply<Config::ab_type>(
                        sum[i][j], now.a[i], now.b[j / 2][j % 2 * 2], now.b[j / 2][j % 2 * 2 + 1]);
                }
                if(!last) { copy(k * mf + i); }
            }
        }
        if constexpr(!early) { finish(); }
        else if constexpr(k_steps % 2 == 1) { held[0] = held[1]; }
        if constexpr(Config::integer) { take(); }
    }

    // Calls put(row, column, values) for pieces of Vector elements of the result, where `vector`
    // is the width. The stages must not be in use any more.
    template <int Vector, typename Put>
    __device__ __forceinline__ void store(char* shared, const Put& put)
    {
        if(idle()) { return; }
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        char* own     = shared + warp * 16 * staging_line_bytes;
        const auto at = [&](int row, int column) {
            return reinterpret_cast<staged*>(own + row * staging_line_bytes) + column;
        };
#pragma unroll
        for(int i = 0; i < mf; ++i)
        {
#pragma unroll
            for(int j = 0; j < nf; ++j)
            {
                const int column = j * 8 + lane % 4 * 2;
#pragma unroll
                for(int half = 0; half < 2; ++half)
                {
                    store_pair(at(lane / 4 + half * 8, column),
                               result(i, j, half * 2),
                               result(i, j, half * 2 + 1));
                }
            }
            __syncwarp();
            constexpr int pieces = warp_n / Vector;
            if constexpr(Put::separable)
            {
                put.template store_lines<16, warp_n>(
                    warp_row + i * 16, warp_column, own, staging_line_bytes);
            }
            else
            {
#pragma unroll 4
                for(int index = lane; index < 16 * pieces; index += 32)
                {
                    const int row = index / pieces, column = index % pieces * Vector;
                    put(warp_row + i * 16 + row, warp_column + column, at(row, column));
                }
            }
            __syncwarp();
        }
    }

    __device__ __forceinline__ static void store_pair(staged* to, staged a, staged b)
    {
        if constexpr(sizeof(*to) == 2)
        {
            *reinterpret_cast<unsigned*>(to) = unsigned{a} | (unsigned{b} << 16);
        }
        else
        {
            to[0] = a;
            to[1] = b;
        }
    }

    // Partial sums go to memory and come back in the order of the registers.
    template <typename Exchange>
    __device__ __forceinline__ void for_each_sum(const Exchange& exchange)
    {
        if(idle()) { return; }
#pragma unroll
        for(int i = 0; i < mf; ++i)
#pragma unroll
            for(int j = 0; j < nf; ++j)
#pragma unroll
                for(int e = 0; e < 4; ++e)
                {
                    const int warps = grid.m * grid.n;
                    exchange(((i * nf + j) * 4 + e) * warps * 32 + static_cast<int>(threadIdx.x),
                             sum[i][j][e]);
                }
    }
};

} // namespace ck_tile::cuda_model
