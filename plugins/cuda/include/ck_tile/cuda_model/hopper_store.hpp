// SPDX-License-Identifier: MIT
// The way of engine W's sums to memory, for convolutions and products of matrices: a warp's rows
// are narrowed, transposed through shared memory and stored as vectors.
#pragma once

#include <cstdint>
#include <cstring>

#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/cuda_model/fused_operation.hpp"
#include "ck_tile/cuda_model/hopper_parts.hpp"
#include "ck_tile/cuda_model/hopper_ptx.hpp"
#include "ck_tile/cuda_model/hopper_shared.hpp"
#include "ck_tile/cuda_model/hopper_turns.hpp"

namespace ck_tile::cuda_model {

// The whole tile, known to the compiler; see column_range.
struct every_column
{
    __device__ __forceinline__ static constexpr bool contains(int) { return true; }
    __device__ __forceinline__ static constexpr bool meets(int, int) { return true; }
};

template <typename Config>
struct hopper_store : hopper_team<Config>
{
    using hopper_team<Config>::staging, hopper_team<Config>::warpgroup;

    static constexpr int blocks  = Config::own_blocks;
    static constexpr int columns = Config::staged_columns;

    using element = stored_t<Config::e_type>;

    __device__ __forceinline__ char* own_staging() const
    { return staging + static_cast<int>(threadIdx.x) / 32 * 16 * Config::staging_line_bytes; }
    // The first row of the warp in one of the warpgroup's blocks of 64 rows.
    __device__ __forceinline__ static int warp_row(int first_row, int block)
    { return first_row + block * 64 + static_cast<int>(threadIdx.x) / 32 % 4 * 16; }

    __device__ __forceinline__ static std::uint32_t narrow_pair(float a, float b)
    { return cuda_model::narrow_pair<Config::e_type, Config::rounding>(a, b); }

    // Some columns of 16 rows to the warp's lines in shared memory. Sums are float or int.
    template <typename Sum>
    __device__ __forceinline__ void stage(const Sum* own_sums) const
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
            static_assert(sizeof(element) == 4 && sizeof(Sum) == 4);
            char* to = own_staging() + lane / 4 * line + lane % 4 * 8;
#pragma unroll
            for(int j = 0; j < columns / 8; ++j)
            {
                const Sum* sum = own_sums + j * 4;
                memcpy(__builtin_assume_aligned(to + j * 32, 8), sum, 8);
                memcpy(__builtin_assume_aligned(to + j * 32 + 8 * line, 8), sum + 2, 8);
            }
        }
    }

    // Calls put(row, column, values) for vectors of the result in some columns; see put_rounds()
    // for one that combines. What it is told of row and column is what row_part(block, row of the
    // warp) and column_part(column) have said.
    template <int Vector,
              typename Sum,
              typename Columns,
              typename Row,
              typename Column,
              typename Put>
    __device__ __forceinline__ void store(const Sum (&sum)[blocks][Config::n / 2],
                                          const Columns& wanted,
                                          const Row& row_part,
                                          const Column& column_part,
                                          const Put& put) const
    {
        constexpr int pieces = columns / Vector; // of a line
        constexpr int rounds = 16 * pieces / 32;
        constexpr bool keeps = rounds <= 8 && !combining<Put>; // the parts of a thread's rows
        using row_type       = decltype(row_part(0, 0));
        const int lane       = threadIdx.x % 32;
        const char* lines    = own_staging();
#pragma unroll
        for(int i = 0; i < blocks; ++i)
        {
            row_type rows[keeps ? rounds : 1];
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
                if(!wanted.meets(chunk * columns, columns)) { continue; }
                if constexpr(combining<Put>)
                {
                    const auto column_of = [&](int round) {
                        const int number = chunk * columns + (lane + round * 32) % pieces * Vector;
                        return wanted.contains(number) ? column_part(number) : -1;
                    };
                    const auto values = [&](int round) {
                        const int index = lane + round * 32;
                        return reinterpret_cast<const element*>(
                                   lines + index / pieces * Config::staging_line_bytes) +
                               index % pieces * Vector;
                    };
                    put_rounds<rounds, pieces <= 32>(
                        put,
                        [&](int round) { return row_part(i, (lane + round * 32) / pieces); },
                        column_of,
                        values,
                        [&] {
                            stage(sum[i] + chunk * (columns / 2));
                            __syncwarp();
                        });
                    __syncwarp();
                }
                else
                {
                    stage(sum[i] + chunk * (columns / 2));
                    __syncwarp();
                    int number  = chunk * columns + lane % pieces * Vector;
                    auto column = column_part(number);
#pragma unroll(keeps ? rounds : 1)
                    for(int round = 0; round < rounds; ++round)
                    {
                        const int index = lane + round * 32;
                        if constexpr(pieces > 32)
                        {
                            number = chunk * columns + index % pieces * Vector;
                            column = column_part(number);
                        }
                        if(!wanted.contains(number)) { continue; }
                        put(keeps ? rows[keeps ? round : 0] : row_part(i, index / pieces),
                            column,
                            reinterpret_cast<const element*>(
                                lines + index / pieces * Config::staging_line_bytes) +
                                index % pieces * Vector);
                    }
                    __syncwarp();
                }
            }
        }
    }
};

// Writes neighbouring elements.
template <int Vector, typename Element>
__device__ __forceinline__ void put_vector(void* result, std::int64_t offset, const Element* values)
{
    using raw = typename raw_vector<Vector* static_cast<int>(sizeof(Element))>::type;
    *reinterpret_cast<raw*>(static_cast<Element*>(result) + offset) =
        *reinterpret_cast<const raw*>(values);
}

} // namespace ck_tile::cuda_model
