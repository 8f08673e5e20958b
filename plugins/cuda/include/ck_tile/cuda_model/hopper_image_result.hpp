// SPDX-License-Identifier: MIT
// Where engine W stores results of forward and backward data.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/hopper_channel_operation.hpp"
#include "ck_tile/cuda_model/hopper_store.hpp"
#include "ck_tile/cuda_model/hopper_transposed_store.hpp"
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

// Rows says which rows of the GEMM a tile has.
template <typename Config, typename Rows>
struct image_result
{
    static constexpr int vector = result_place<Config>::vector;

    using sums = float[Config::own_blocks][Config::n / 2];

    const hopper_store<Config>& way;
    const gemm_params& g;
    const tile_place& at;
    const Rows& rows;
    int first_row; // of the warpgroup's products
    const typename Config::fused& fused;

    // Calls put(row, column, values) with what result_place says of row and column.
    template <typename Columns, typename Put>
    __device__ __forceinline__ void each_vector(const sums& sum,
                                                const Columns& columns,
                                                const result_place<Config>& result,
                                                const Put& put) const
    {
        const auto row_part = [&](int tile_row) -> std::int64_t {
            const int number = rows(tile_row);
            return number < 0 ? -1 : result.row_part(number);
        };
        if constexpr(Config::transposed)
        {
            const transposed_store<Config> turned{{way.staging, way.warpgroup}};
#pragma unroll
            for(int block = 0; block < Config::own_blocks; ++block)
            {
                turned.template store<vector>(
                    sum[block],
                    row_part,
                    [&](int channel) {
                        return result.column_part(first_row + block * 64 + channel);
                    },
                    put);
            }
        }
        else
        {
            way.template store<vector>(
                sum,
                columns,
                [&](int block, int row) { return row_part(way.warp_row(first_row, block) + row); },
                [&](int column) { return result.column_part(column); },
                put);
        }
    }

    template <typename Columns>
    __device__ __forceinline__ void store(const sums& sum, const Columns& columns) const
    {
        each_vector(sum,
                    columns,
                    result_place<Config>{g, at, false, fused},
                    [&](std::int64_t row, std::int64_t column, const auto* values) {
                        if(row >= 0 && column >= 0)
                        {
                            put_vector<vector>(g.result, row + column, values);
                        }
                    });
    }

    // Does what is fused to sums. Says whether that has stored them: where D tensors are not of
    // channels alone, it is done on their way to memory.
    template <typename Columns>
    __device__ __forceinline__ bool
    combine(sums& sum,
            const Columns& columns,
            [[maybe_unused]] const channel_operation<Config>& operation) const
    {
        if constexpr(Config::fused::exists)
        {
            if constexpr(channel_operation<Config>::possible)
            {
                if(fused.channels_alone)
                {
                    operation.template combine<Config::e_type, Config::rounding>(
                        fused, sum, way.own_staging());
                    return false;
                }
            }
            const result_place<Config> result{g, at, false, fused};
            each_vector(sum, columns, result, result.combining());
            return true;
        }
        return false;
    }

    // To what other parts of K have added or will add.
    __device__ __forceinline__ void add(const sums& sum) const
    {
        using element = stored_t<Config::e_type>;
        each_vector(sum,
                    every_column{},
                    result_place<Config>{g, at, false, fused},
                    [&](std::int64_t row, std::int64_t column, const element* values) {
                        if(row < 0 || column < 0) { return; }
                        add_to_memory<Config::e_type, vector>(
                            static_cast<element*>(g.result) + row + column, values);
                    });
    }
};

} // namespace ck_tile::cuda_model
