// SPDX-License-Identifier: MIT
// The side of engine W that multiplies and stores.
#pragma once

#include <type_traits>

#include "ck_tile/cuda_model/hopper_exchange.hpp"
#include "ck_tile/cuda_model/hopper_image_result.hpp"
#include "ck_tile/cuda_model/hopper_shared.hpp"
#include "ck_tile/cuda_model/hopper_store.hpp"
#include "ck_tile/cuda_model/hopper_turns.hpp"
#include "ck_tile/cuda_model/hopper_walk.hpp"
#include "ck_tile/cuda_model/hopper_weight_result.hpp"
#include "ck_tile/cuda_model/matrix_descriptor.hpp"
#include "ck_tile/cuda_model/matrix_operands.hpp"
#include "ck_tile/cuda_model/wgmma_products.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
struct hopper_consumer
{
    static constexpr int blocks = Config::own_blocks;
    static constexpr int regs   = Config::n / 2;

    using config   = Config;
    using params   = hopper_params_of<Config>;
    using sum_type = std::conditional_t<Config::integer, int, float>;
    using product =
        warpgroup_product<Config::ab_type, Config::n, !Config::a_k_major, !Config::b_k_major>;

    const params& p;
    const typename Config::fused& fused;
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

    // With clusters all blocks call this for the same tiles; `turn` flips from one to the next.
    __device__ __forceinline__ void store_result(const hopper_tile_place& place,
                                                 std::uint32_t turn,
                                                 const channel_operation<Config>& operation)
    {
        column_range columns{0, Config::n};
        if constexpr(can_split)
        {
            const part_sums& parts = p.work.sums;
            const int rows         = p.work.g.m - place.at.first_row;
            const hopper_exchange<Config, sum_type> exchange{
                parts, shared, warpgroup, rows - hopper_store<Config>::warp_row(first_row(), 0)};
            if(Config::clusters && parts.cluster > 1)
            {
                columns = exchange.exchange(sum, rows, turn);
            }
            else if(!forward && parts.parts > 1)
            {
                if constexpr(forward) { return; }
                else if constexpr(adds_results)
                {
                    image(place, [&](const auto& result) { result.add(sum); });
                    return;
                }
                else if(!exchange.collect(sum, place.number, needed_pieces(place))) { return; }
            }
        }
        put(place, columns, operation);
    }

private:
    static constexpr bool convolution = !Config::plain;
    static constexpr bool images      = convolution && !Config::weight;
    static constexpr bool forward     = [] {
        if constexpr(convolution) { return Config::direction == direction::forward; }
        return false;
    }();
    // Forward, parts are those of clusters alone.
    static constexpr bool can_split = !forward || Config::clusters;
    // In memory, parts of backward data add up in the type of the result: sums of images would
    // take much memory.
    static constexpr bool adds_results = images;

    // See hopper_exchange.
    __device__ __forceinline__ std::uint64_t needed_pieces(const hopper_tile_place& place) const
    {
        if constexpr(Config::plain) { return ~std::uint64_t{0}; }
        else
        {
            return weight_place<Config>{p.work, place}.needed_pieces(
                hopper_store<Config>::warp_row(first_row(), 0));
        }
    }

    template <typename Use>
    __device__ __forceinline__ void image(const hopper_tile_place& place, const Use& use) const
    {
        const hopper_store<Config> way{{shared.staging, warpgroup}};
        const consecutive_rows rows{place.at.first_row, p.work.g.m};
        use(image_result<Config, consecutive_rows>{
            way, p.work.g, place.at, rows, first_row(), fused});
    }

    __device__ __forceinline__ void put(const hopper_tile_place& place,
                                        const column_range& columns,
                                        [[maybe_unused]] const channel_operation<Config>& operation)
    {
        const hopper_store<Config> way{{shared.staging, warpgroup}};
        if constexpr(Config::plain)
        {
            const matrix_result<Config> result{p.work.g, place.at, false};
            way.template store<matrix_result<Config>::vector>(
                sum,
                columns,
                [&](int block, int row) { return way.warp_row(first_row(), block) + row; },
                [](int column) { return column; },
                result);
        }
        else if constexpr(Config::weight)
        {
            weight_result<Config>{{p.work, place}}.store(way, sum, first_row(), columns);
        }
        else if constexpr(forward)
        {
            const bool some = Config::clusters && p.work.sums.cluster > 1;
            image(place, [&](const auto& result) {
                if(result.combine(sum, columns, operation)) { return; }
                if(some) { result.store(sum, columns); }
                else
                {
                    result.store(sum, every_column{});
                }
            });
        }
        else
        {
            image(place, [&](const auto& result) { result.store(sum, columns); });
        }
    }
};

} // namespace ck_tile::cuda_model
