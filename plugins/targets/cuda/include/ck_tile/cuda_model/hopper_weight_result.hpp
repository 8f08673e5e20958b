// SPDX-License-Identifier: MIT
// Where engine W stores results of backward weight.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/hopper_store.hpp"
#include "ck_tile/cuda_model/hopper_walk.hpp"

namespace ck_tile::cuda_model {

// What a row or a column contributes to the offset of an element, negative if there is no such row
// or column; and its group among those of a tile.
struct result_part
{
    std::int64_t offset;
    int group;

    // Of the element where a row and a column meet; negative if there is none.
    __device__ __forceinline__ static std::int64_t meet(const result_part& row,
                                                        const result_part& column)
    {
        const bool exists = row.offset >= 0 && column.offset > -1 && row.group == column.group;
        return exists ? row.offset + column.offset : -1;
    }
};

// Columns come in chunks of one tap.
template <typename Config>
struct weight_result
{
    const hopper_work& w;
    const hopper_tile_place& place;

    // Channels per group, as they are in memory.
    __device__ __forceinline__ int channels() const
    { return static_cast<int>(w.group_channels.divisor); }

    // Whether several groups share a tile: elements whose row and column belong to different ones
    // are not part of the result.
    __device__ __forceinline__ bool shared_by_groups() const
    { return Config::merged > 1 || w.joined > 1; }

    __device__ __forceinline__ result_part row_part(int tile_row) const
    {
        const gemm_params& g = w.g;
        const int row        = place.at.first_row + tile_row;
        if(row >= g.m) { return {-1, 0}; }
        const int taps = g.filter[0] * g.filter[1] * g.filter[2];
        return {(static_cast<std::int64_t>(place.at.first_group) * g.out_channels + row) * taps *
                    channels(),
                shared_by_groups() ? w.group_filters.quotient(row) : 0};
    }

    __device__ __forceinline__ result_part column_part(int tile_column) const
    {
        const gemm_params& g = w.g;
        const int number     = place.first_chunk + tile_column / Config::columns_per_chunk;
        const int tap        = w.chunks.quotient(number);
        const int column     = w.chunks.remainder(number, tap) * Config::columns_per_chunk +
                               tile_column % Config::columns_per_chunk;
        if(tap >= g.filter[0] * g.filter[1] * g.filter[2] ||
           column >= g.in_channels * Config::merged)
        {
            return {-1, 0};
        }
        const int group = shared_by_groups() ? w.group_channels.quotient(column) : 0;
        return {static_cast<std::int64_t>(tap - group) * channels() + column, group};
    }

    // Some columns of the sums of one warpgroup, whose first row that is.
    __device__ __forceinline__ void store(const hopper_store<Config>& way,
                                          const float (&sum)[Config::own_blocks][Config::n / 2],
                                          int first_row,
                                          const column_range& columns) const
    {
        constexpr int vector = Config::vector_c;
        way.template store<vector>(
            sum,
            columns,
            [&](int block, int row) { return row_part(way.warp_row(first_row, block) + row); },
            [&](int column) { return column_part(column); },
            [&](const result_part& row, const result_part& column, const auto* values) {
                const std::int64_t offset = result_part::meet(row, column);
                if(offset >= 0) { put_vector<vector>(w.g.result, offset, values); }
            });
    }
};

} // namespace ck_tile::cuda_model
