// SPDX-License-Identifier: MIT
// The side of engine W that multiplies and stores.
#pragma once

#include <type_traits>

#include "ck_tile/cuda_model/hopper_matrix_result.hpp"
#include "ck_tile/cuda_model/hopper_shared.hpp"
#include "ck_tile/cuda_model/hopper_walk.hpp"
#include "ck_tile/cuda_model/hopper_weight_result.hpp"
#include "ck_tile/cuda_model/matrix_descriptor.hpp"
#include "ck_tile/cuda_model/result.hpp"
#include "ck_tile/cuda_model/wgmma_products.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
struct hopper_consumer
{
    static constexpr bool weight = Config::weight;
    static constexpr int blocks  = Config::own_blocks;
    static constexpr int regs    = Config::n / 2;

    using config   = Config;
    using params   = hopper_params_of<Config>;
    using element  = stored_t<Config::e_type>;
    using sum_type = std::conditional_t<Config::integer, int, float>;
    using product =
        warpgroup_product<Config::ab_type, Config::n, !Config::a_k_major, !Config::b_k_major>;

    const params& p;
    const hopper_shared<Config>& shared;
    int warpgroup;
    ring_position<Config::stages> at{};
    std::uint32_t own_tiles = 0;
    sum_type sum[blocks][regs];

    __device__ __forceinline__ int first_row() const
    { return Config::turns ? 0 : warpgroup * blocks * 64; }

    __device__ __forceinline__ void release(int stage)
    {
        if(threadIdx.x % 32 == 0) { barrier_arrive(shared.empty + 8 * stage); }
    }

    // Keeps the compiler from moving uses of the accumulators across this place.
    __device__ __forceinline__ void pin_sums()
    {
#pragma unroll
        for(auto& block : sum)
#pragma unroll
            for(sum_type& value : block)
            {
                if constexpr(Config::integer) { asm volatile("" : "+r"(value)::"memory"); }
                else
                {
                    asm volatile("" : "+f"(value)::"memory");
                }
            }
    }

    // Consumers that take turns multiply one after the other: a barrier tells neighbouring turns of
    // the ring apart, not more.
    __device__ __forceinline__ void begin_turn()
    {
        if constexpr(Config::turns)
        {
            barrier_wait(shared.order + 8 * warpgroup,
                         (own_tiles & 1u) ^ (warpgroup == 0 ? 1u : 0u));
            ++own_tiles;
        }
    }

    __device__ __forceinline__ void end_turn()
    {
        if constexpr(Config::turns)
        {
            if(threadIdx.x % 32 == 0) { barrier_arrive(shared.order + 8 * (1 - warpgroup)); }
        }
    }

    __device__ __forceinline__ void multiply(int steps)
    {
#pragma unroll
        for(auto& block : sum)
#pragma unroll
            for(sum_type& value : block) { value = 0; }
        pin_sums();
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
            if(step > 0) { release(before); }
            before = at.stage;
            at.advance();
        }
        end_turn();
        products_wait<0>();
        pin_sums();
        if(steps > 0) { release(before); }
    }

    // Calls put(row, column, values) for pieces of the result; Staged is the type on the way.
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

    __device__ __forceinline__ void store_result(const hopper_tile_place& place)
    {
        const auto& w = p.work;
        if constexpr(Config::plain) { store_matrix(*this, place); }
        else if constexpr(!weight)
        {
            const result_place<Config> put{w.g, place.at, w.g.k_batch > 1};
            store<element, result_place<Config>::vector>(narrow_pair, put);
        }
        else
        {
            const weight_columns<Config, element> columns{w, place};
            if(w.g.k_batch > 1)
            {
                store_partial(place, columns);
                return;
            }
            using raw =
                typename raw_vector<Config::vector_c* static_cast<int>(sizeof(element))>::type;
            store<element, Config::vector_c>(
                narrow_pair, [&](int row, int column, const element* values) {
                    const std::int64_t offset = columns.find(row, column);
                    if(offset < 0) { return; }
                    *reinterpret_cast<raw*>(static_cast<element*>(w.g.result) + offset) =
                        *reinterpret_cast<const raw*>(values);
                });
        }
    }

    // Threads that share a tile.
    static constexpr int team = Config::turns ? 128 : Config::warpgroups * 128;
    __device__ __forceinline__ void team_barrier() const
    {
        asm volatile("bar.sync %0, %1;" ::"r"(Config::turns ? 1 + warpgroup : 1), "n"(team)
                     : "memory");
    }

    // The first thread of those that share a tile.
    __device__ __forceinline__ int lead() const { return Config::turns ? warpgroup * 128 : 0; }

    // Whether all other parts of the tile have been added before this one; then the counter starts
    // anew. Orders the additions of all threads before what follows.
    __device__ __forceinline__ bool arrives_last(unsigned* arrived, int parts) const
    {
        __threadfence();
        team_barrier();
        auto* last = reinterpret_cast<unsigned*>(shared.staging) +
                     lead() / 32 * 16 * (Config::staging_line_bytes / 4);
        if(static_cast<int>(threadIdx.x) == lead())
        {
            *last = atomicAdd(arrived, 1u) + 1 == static_cast<unsigned>(parts);
            if(*last != 0) { *arrived = 0; }
            __threadfence();
        }
        team_barrier();
        const bool answer = *last != 0;
        team_barrier();
        return answer;
    }

    // Parts of K add up in fp32. The last one to arrive converts, and leaves zeros behind.
    template <typename Columns>
    __device__ __forceinline__ void store_partial(const hopper_tile_place& place,
                                                  const Columns& columns)
    {
        const hopper_work& w  = p.work;
        constexpr bool direct = Config::e_type == data_type::fp32; // the launcher has zeroed it
        constexpr int vector  = Config::vector_c < 4 ? Config::vector_c : 4;
        float* sums           = direct ? static_cast<float*>(w.g.result) : w.partial;
        store<float, vector>(
            [](float* to, float a, float b) { *reinterpret_cast<float2*>(to) = make_float2(a, b); },
            [&](int row, int column, const float* values) {
                const std::int64_t offset = columns.find(row, column);
                if(offset >= 0) { add_pieces(sums + offset, values, vector); }
            });
        if constexpr(!direct)
        {
            if(arrives_last(w.arrived + place.number, w.g.k_batch)) { convert(place, columns); }
        }
    }

    template <typename Columns>
    __device__ __forceinline__ void convert(const hopper_tile_place&, const Columns& columns)
    {
        const hopper_work& w = p.work;
        constexpr int vector = Config::vector_c < 4 ? Config::vector_c : 4;
        constexpr int pieces = Config::n / vector;
        for(int index = static_cast<int>(threadIdx.x) - lead(); index < Config::m * pieces;
            index += team)
        {
            const std::int64_t offset = columns.find(index / pieces, index % pieces * vector);
            if(offset < 0) { continue; }
            element* to = static_cast<element*>(w.g.result) + offset;
            float values[vector];
            element narrowed[vector];
#pragma unroll
            for(int i = 0; i < vector; ++i) { values[i] = __ldcg(w.partial + offset + i); }
#pragma unroll
            for(int i = 0; i < vector; ++i)
            {
                narrowed[i]           = narrow<Config::e_type, Config::rounding>(values[i]);
                w.partial[offset + i] = 0;
            }
            using raw = typename raw_vector<vector* static_cast<int>(sizeof(element))>::type;
            raw bits;
            memcpy(&bits, narrowed, sizeof(bits));
            *reinterpret_cast<raw*>(to) = bits;
        }
    }
};

} // namespace ck_tile::cuda_model
