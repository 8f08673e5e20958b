// SPDX-License-Identifier: MIT
// The side of engine W that multiplies and stores.
#pragma once

#include <type_traits>

#include "ck_tile/cuda_model/hopper_matrix_result.hpp"
#include "ck_tile/cuda_model/hopper_shared.hpp"
#include "ck_tile/cuda_model/hopper_store.hpp"
#include "ck_tile/cuda_model/hopper_turns.hpp"
#include "ck_tile/cuda_model/hopper_walk.hpp"
#include "ck_tile/cuda_model/matrix_descriptor.hpp"
#include "ck_tile/cuda_model/wgmma_products.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
struct hopper_consumer
{
    static constexpr int blocks = Config::own_blocks;
    static constexpr int regs   = Config::n / 2;
    static constexpr int team   = hopper_team<Config>::threads;

    using config   = Config;
    using params   = hopper_params_of<Config>;
    using element  = stored_t<Config::e_type>;
    using sum_type = std::conditional_t<Config::integer, int, float>;
    using product =
        warpgroup_product<Config::ab_type, Config::n, !Config::a_k_major, !Config::b_k_major>;

    const params& p;
    const hopper_shared<Config>& shared;
    int warpgroup;
    hopper_turns<Config::turns> turns;
    ring_position<Config::stages> at{};
    sum_type sum[blocks][regs];

    __device__ __forceinline__ int first_row() const
    { return Config::turns ? 0 : warpgroup * blocks * 64; }

    __device__ __forceinline__ void multiply(int steps)
    {
        clear_sums(sum);
        turns.begin();
        int before = 0;
#pragma unroll 1
        for(int step = 0; step < steps; ++step)
        {
            barrier_wait(shared.full + 8 * at.stage, at.turn);
            const std::uint32_t stage = shared.stage(at.stage);
            const std::uint64_t a     = make_descriptor(stage, Config::a_k_major) +
                                        first_row() / 64 * descriptor_chunk_step;
            const std::uint64_t b     = make_descriptor(stage + Config::a_bytes, Config::b_k_major);
            products_begin();
#pragma unroll
            for(int k = 0; k < hopper_row_bytes / 32; ++k)
#pragma unroll
                for(int i = 0; i < blocks; ++i)
                {
                    product::issue(sum[i],
                                   a + i * descriptor_chunk_step +
                                       k * descriptor_k_step(Config::a_k_major),
                                   b + k * descriptor_k_step(Config::b_k_major),
                                   1);
                }
            products_commit();
            products_wait<1>();
            if(step > 0) { release_stage(shared.empty + 8 * before); }
            before = at.stage;
            at.advance();
        }
        turns.end();
        products_wait<0>();
        pin_sums(sum);
        if(steps > 0) { release_stage(shared.empty + 8 * before); }
    }

    __device__ __forceinline__ void store_result(const hopper_tile_place& place)
    {
        if constexpr(Config::plain) { store_matrix(*this, place); }
        else
        {
            const hopper_store<Config> result{{shared.staging, warpgroup}, p.work};
            if constexpr(Config::weight) { result.store_weights(sum, place, first_row()); }
            else
            {
                result.store_images(
                    sum, place.at, first_row(), consecutive_rows{place.at.first_row, p.work.g.m});
            }
        }
    }

    // The first thread of those that share a tile; see hopper_team.
    __device__ __forceinline__ int lead() const
    { return hopper_team<Config>{shared.staging, warpgroup}.lead(); }
    __device__ __forceinline__ bool arrives_last(unsigned* arrived, int parts) const
    { return hopper_team<Config>{shared.staging, warpgroup}.arrives_last(arrived, parts); }

    // Products of matrices: calls put(row, column, values) for pieces of the result; Staged is the
    // type on the way.
    template <typename Staged, int Vector, typename Narrow, typename Put>
    __device__ __forceinline__ void store(const Narrow& to_staged, const Put& put)
    {
        constexpr int columns    = Config::staged_columns;
        constexpr int line_bytes = columns * static_cast<int>(sizeof(Staged)) + 16;
        constexpr int pieces     = columns / Vector;
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        char* own         = shared.staging + warp * 16 * Config::staging_line_bytes;
        const auto staged = [&](int row, int column) {
            return reinterpret_cast<Staged*>(own + row * line_bytes) + column;
        };
#pragma unroll
        for(int i = 0; i < blocks; ++i)
#pragma unroll
            for(int chunk = 0; chunk < Config::n / columns; ++chunk)
            {
#pragma unroll
                for(int j = 0; j < columns / 8; ++j)
                {
                    const sum_type* four = sum[i] + chunk * (columns / 2) + j * 4;
                    const int column     = j * 8 + lane % 4 * 2;
                    to_staged(staged(lane / 4, column), four[0], four[1]);
                    to_staged(staged(lane / 4 + 8, column), four[2], four[3]);
                }
                __syncwarp();
#pragma unroll 4
                for(int index = lane; index < 16 * pieces; index += 32)
                {
                    const int row = index / pieces, column = index % pieces * Vector;
                    put(first_row() + i * 64 + warp % 4 * 16 + row,
                        chunk * columns + column,
                        staged(row, column));
                }
                __syncwarp();
            }
    }

    __device__ __forceinline__ static void narrow_pair(element* to, float a, float b)
    {
        if constexpr(sizeof(element) == 4) { *reinterpret_cast<float2*>(to) = make_float2(a, b); }
        else
        {
            const unsigned low               = narrow<Config::e_type, Config::rounding>(a);
            const unsigned high              = narrow<Config::e_type, Config::rounding>(b);
            *reinterpret_cast<unsigned*>(to) = low | (high << 16);
        }
    }
};

} // namespace ck_tile::cuda_model
