// SPDX-License-Identifier: MIT
// The side of engine W that multiplies and stores.
#pragma once

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
    static constexpr bool weight = Config::direction == direction::backward_weight;
    static constexpr int blocks  = Config::own_blocks;

    using product =
        warpgroup_product<Config::ab_type, Config::n, !Config::a_k_major, !Config::b_k_major>;

    const hopper_params& p;
    const hopper_shared<Config>& shared;
    int warpgroup;
    hopper_turns<Config::turns> turns;
    ring_position<Config::stages> at{};
    hopper_sums<blocks, Config::n / 2> sums;

    __device__ __forceinline__ int first_row() const
    { return Config::turns ? 0 : warpgroup * blocks * 64; }

    __device__ __forceinline__ void multiply(int steps)
    {
        sums.clear();
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
            for(int k = 0; k < hopper_k / 16; ++k)
#pragma unroll
                for(int i = 0; i < blocks; ++i)
                {
                    product::issue(sums.value[i],
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
        sums.pin();
        if(steps > 0) { release_stage(shared.empty + 8 * before); }
    }

    __device__ __forceinline__ void store_result(const hopper_tile_place& place)
    {
        const hopper_store<Config> result{p.work, shared.staging, warpgroup};
        if constexpr(weight) { result.store_weights(sums.value, place, first_row()); }
        else
        {
            result.store_images(sums.value,
                                place.at,
                                first_row(),
                                consecutive_rows{place.at.first_row, p.work.g.m});
        }
    }
};

} // namespace ck_tile::cuda_model
