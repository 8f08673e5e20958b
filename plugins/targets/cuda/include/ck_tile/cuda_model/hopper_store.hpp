// SPDX-License-Identifier: MIT
// The way of engine W's sums to memory: a warp's rows are narrowed, transposed through shared
// memory and stored as vectors; sums of several parts of K are added in fp32.
#pragma once

#include "ck_tile/cuda_model/hopper_ptx.hpp"
#include "ck_tile/cuda_model/hopper_shared.hpp"
#include "ck_tile/cuda_model/hopper_turns.hpp"
#include "ck_tile/cuda_model/hopper_walk.hpp"
#include "ck_tile/cuda_model/hopper_weight_result.hpp"
#include "ck_tile/cuda_model/result.hpp"

namespace ck_tile::cuda_model {

// The rows of a GEMM that a tile's rows stand for: consecutive ones.
struct consecutive_rows
{
    int first, end;

    // Negative if there is none.
    __device__ __forceinline__ int operator()(int tile_row) const
    {
        const int row = first + tile_row;
        return row < end ? row : -1;
    }
};

template <typename Config>
struct hopper_store : hopper_team<Config>
{
    using hopper_team<Config>::staging, hopper_team<Config>::warpgroup, hopper_team<Config>::lead;
    static constexpr int team = hopper_team<Config>::threads;

    static constexpr bool weight = Config::direction == direction::backward_weight;
    static constexpr bool data   = Config::direction == direction::backward_data;
    static constexpr int blocks  = Config::own_blocks;
    static constexpr int columns = Config::staged_columns;

    using element = stored_t<Config::e_type>;
    using sums    = float[blocks][Config::n / 2];

    const hopper_work& w;

    __device__ __forceinline__ char* own_staging() const
    { return staging + static_cast<int>(threadIdx.x) / 32 * 16 * Config::staging_line_bytes; }
    // The first row of the warp in one of the warpgroup's blocks of 64 rows.
    __device__ __forceinline__ static int warp_row(int first_row, int block)
    { return first_row + block * 64 + static_cast<int>(threadIdx.x) / 32 % 4 * 16; }

    __device__ __forceinline__ static std::uint32_t narrow_pair(float a, float b)
    {
        if constexpr(Config::e_type == data_type::bf16 &&
                     Config::rounding == bf16_rounding_mode::standard)
        {
            const __nv_bfloat162 both = __floats2bfloat162_rn(a, b);
            std::uint32_t bits;
            memcpy(&bits, &both, sizeof(bits));
            return bits;
        }
        else if constexpr(Config::e_type == data_type::fp16)
        {
            const __half2 both = __floats2half2_rn(a, b);
            std::uint32_t bits;
            memcpy(&bits, &both, sizeof(bits));
            return bits;
        }
        else
        {
            const unsigned low  = narrow<Config::e_type, Config::rounding>(a);
            const unsigned high = narrow<Config::e_type, Config::rounding>(b);
            return low | (high << 16);
        }
    }

    // Some columns of 16 rows to the warp's lines in shared memory.
    __device__ __forceinline__ void stage(const float* own_sums) const
    {
        constexpr int line = Config::staging_line_bytes;
        const int lane     = threadIdx.x % 32;
        if constexpr(sizeof(element) == 2)
        {
            const int matrix       = lane / 8; // rows 0-7 and 8-15, then the next 8 columns
            const std::uint32_t to = shared_address(own_staging()) +
                                     (lane % 8 + matrix % 2 * 8) * line + matrix / 2 * 16;
#pragma unroll
            for(int j = 0; j < columns / 8; j += 2)
            {
                const float* sum = own_sums + j * 4;
                store_matrices<false>(to + j * 16,
                                      narrow_pair(sum[0], sum[1]),
                                      narrow_pair(sum[2], sum[3]),
                                      narrow_pair(sum[4], sum[5]),
                                      narrow_pair(sum[6], sum[7]));
            }
        }
        else
        {
            char* to = own_staging() + lane / 4 * line + lane % 4 * 8;
#pragma unroll
            for(int j = 0; j < columns / 8; ++j)
            {
                const float* sum                                   = own_sums + j * 4;
                *reinterpret_cast<float2*>(to + j * 32)            = make_float2(sum[0], sum[1]);
                *reinterpret_cast<float2*>(to + j * 32 + 8 * line) = make_float2(sum[2], sum[3]);
            }
        }
    }

    // Calls put(offset, values) for vectors of the result, whose offsets are made of the parts of
    // rows and columns.
    template <int Vector, typename Row, typename Column, typename Put>
    __device__ __forceinline__ void store_vectors(const sums& sum,
                                                  const Row& row_part,
                                                  const Column& column_part,
                                                  const Put& put) const
    {
        constexpr int pieces = columns / Vector; // of a line
        constexpr int rounds = 16 * pieces / 32;
        constexpr bool keeps = rounds <= 8; // the parts of a thread's rows
        const int lane       = threadIdx.x % 32;
        const char* lines    = own_staging();
#pragma unroll
        for(int i = 0; i < blocks; ++i)
        {
            result_part rows[keeps ? rounds : 1];
            if constexpr(keeps)
            {
#pragma unroll
                for(int round = 0; round < rounds; ++round)
                {
                    rows[round] = row_part(i, (lane + round * 32) / pieces);
                }
            }
#pragma unroll
            for(int chunk = 0; chunk < Config::n / columns; ++chunk)
            {
                stage(sum[i] + chunk * (columns / 2));
                __syncwarp();
                result_part column = column_part(chunk * columns + lane % pieces * Vector);
#pragma unroll(keeps ? rounds : 1)
                for(int round = 0; round < rounds; ++round)
                {
                    const int index = lane + round * 32;
                    if constexpr(pieces > 32)
                    {
                        column = column_part(chunk * columns + index % pieces * Vector);
                    }
                    const std::int64_t offset = result_part::meet(
                        keeps ? rows[keeps ? round : 0] : row_part(i, index / pieces), column);
                    if(offset < 0) { continue; }
                    put(offset,
                        reinterpret_cast<const element*>(lines + index / pieces *
                                                                     Config::staging_line_bytes) +
                            index % pieces * Vector);
                }
                __syncwarp();
            }
        }
    }

    template <int Vector>
    __device__ __forceinline__ void put_vector(std::int64_t offset, const element* values) const
    {
        using raw = typename raw_vector<Vector* static_cast<int>(sizeof(element))>::type;
        *reinterpret_cast<raw*>(static_cast<element*>(w.g.result) + offset) =
            *reinterpret_cast<const raw*>(values);
    }

    // Forward and backward data.
    template <typename Rows>
    __device__ __forceinline__ void
    store_images(const sums& sum, const tile_place& at, int first_row, const Rows& rows) const
    {
        const result_place<Config> result{w.g, at, false};
        constexpr int vector = result_place<Config>::vector;
        const auto row_part  = [&](int block, int row) {
            const int number = rows(warp_row(first_row, block) + row);
            return result_part{number < 0 ? -1 : result.row_part(number), 0};
        };
        const auto column_part = [&](int column) {
            return result_part{result.column_part(column), 0};
        };
        if constexpr(data)
        {
            if(w.g.k_batch > 1)
            {
                store_vectors<vector>(
                    sum, row_part, column_part, [&](std::int64_t offset, const element* values) {
                        add_to_memory<Config::e_type, vector>(
                            static_cast<element*>(w.g.result) + offset, values);
                    });
                return;
            }
        }
        store_vectors<vector>(
            sum, row_part, column_part, [&](std::int64_t offset, const element* values) {
                put_vector<vector>(offset, values);
            });
    }

    // Backward weight.
    __device__ __forceinline__ void
    store_weights(const sums& sum, const hopper_tile_place& place, int first_row) const
    {
        const weight_result<Config> result{w, place};
        if(w.g.k_batch > 1)
        {
            add_partial(sum, place, first_row, result);
            return;
        }
        constexpr int vector = Config::vector_c;
        store_vectors<vector>(
            sum,
            [&](int block, int row) { return result.row_part(warp_row(first_row, block) + row); },
            [&](int column) { return result.column_part(column); },
            [&](std::int64_t offset, const element* values) {
                put_vector<vector>(offset, values);
            });
    }

    // Adds two neighbouring sums.
    __device__ __forceinline__ static void add_pair(float* to, float a, float b)
    { asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(a), "f"(b) : "memory"); }

    __device__ __forceinline__ void
    add_sums(const sums& sum, int first_row, const weight_result<Config>& result, float* to) const
    {
        const int lane   = threadIdx.x % 32;
        const bool pairs = result.channels() % 2 == 0; // of one group
        result_part rows[blocks][2];
#pragma unroll
        for(int i = 0; i < blocks; ++i)
#pragma unroll
            for(int half = 0; half < 2; ++half)
            {
                rows[i][half] = result.row_part(warp_row(first_row, i) + lane / 4 + half * 8);
            }
#pragma unroll
        for(int j = 0; j < Config::n / 8; ++j)
        {
            const int number         = j * 8 + lane % 4 * 2;
            const result_part column = result.column_part(number);
            result_part next{-1, 0};
            if(!pairs) { next = result.column_part(number + 1); }
#pragma unroll
            for(int i = 0; i < blocks; ++i)
#pragma unroll
                for(int half = 0; half < 2; ++half)
                {
                    const float* two          = sum[i] + j * 4 + half * 2;
                    const std::int64_t offset = result_part::meet(rows[i][half], column);
                    if(pairs && offset >= 0) { add_pair(to + offset, two[0], two[1]); }
                    if(pairs) { continue; }
                    if(offset >= 0) { atomicAdd(to + offset, two[0]); }
                    const std::int64_t other = result_part::meet(rows[i][half], next);
                    if(other >= 0) { atomicAdd(to + other, two[1]); }
                }
        }
    }

    // Parts of K add up in fp32. The last one to arrive converts, and leaves zeros behind.
    __device__ __forceinline__ void add_partial(const sums& sum,
                                                const hopper_tile_place& place,
                                                int first_row,
                                                const weight_result<Config>& result) const
    {
        constexpr bool direct = Config::e_type == data_type::fp32; // the launcher has zeroed it
        add_sums(sum, first_row, result, direct ? static_cast<float*>(w.g.result) : w.partial);
        if constexpr(!direct)
        {
            if(this->arrives_last(w.arrived + place.number, w.g.k_batch)) { convert(result); }
        }
    }

    template <int Vector>
    struct piece
    {
        std::int64_t offset;
        float value[Vector];
    };

    __device__ __forceinline__ void convert(const weight_result<Config>& result) const
    {
        constexpr int vector = Config::vector_c < 4 ? Config::vector_c : 4;
        constexpr int pieces = Config::n / vector;
        constexpr int all    = Config::m * pieces;
        constexpr int depth  = 8; // loads under way
        using raw            = typename raw_vector<vector* static_cast<int>(sizeof(element))>::type;
        using loaded         = typename raw_vector<vector * 4>::type;
        for(int first = static_cast<int>(threadIdx.x) - lead(); first < all; first += team * depth)
        {
            piece<vector> some[depth];
#pragma unroll
            for(int i = 0; i < depth; ++i)
            {
                const int index = first + i * team;
                some[i].offset =
                    index < all ? result_part::meet(result.row_part(index / pieces),
                                                    result.column_part(index % pieces * vector))
                                : -1;
                if(some[i].offset < 0) { continue; }
                const loaded bits =
                    __ldcg(reinterpret_cast<const loaded*>(w.partial + some[i].offset));
                memcpy(some[i].value, &bits, sizeof(bits));
            }
#pragma unroll
            for(int i = 0; i < depth; ++i)
            {
                if(some[i].offset < 0) { continue; }
                element narrowed[vector];
#pragma unroll
                for(int k = 0; k < vector; ++k)
                {
                    narrowed[k] = narrow<Config::e_type, Config::rounding>(some[i].value[k]);
                }
                raw bits;
                memcpy(&bits, narrowed, sizeof(bits));
                *reinterpret_cast<raw*>(static_cast<element*>(w.g.result) + some[i].offset) = bits;
                *reinterpret_cast<loaded*>(w.partial + some[i].offset) = loaded{};
            }
        }
    }
};

} // namespace ck_tile::cuda_model
