// SPDX-License-Identifier: MIT
// Where the elements of a tile of backward weight belong. Usable without a GPU.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/hopper_walk.hpp"

namespace ck_tile::cuda_model {

// What a row or a column contributes to the offset of an element, negative if there is no such row
// or column; and its group among those of a tile.
struct result_part
{
    std::int64_t offset;
    int group;

    // Of the element where a row and a column meet; negative if there is none.
    CK_TILE_CUDA_BOTH static std::int64_t meet(const result_part& row, const result_part& column)
    {
        const bool exists = row.offset >= 0 && column.offset > -1 && row.group == column.group;
        return exists ? row.offset + column.offset : -1;
    }
};

// Columns come in chunks of one tap.
template <typename Config>
struct weight_place
{
    const hopper_work& w;
    const hopper_tile_place& place;

    // Channels per group, as they are in memory.
    CK_TILE_CUDA_BOTH int channels() const { return static_cast<int>(w.group_channels.divisor); }

    // Whether several groups share a tile: elements whose row and column belong to different ones
    // are not part of the result.
    CK_TILE_CUDA_BOTH bool shared_by_groups() const { return Config::merged > 1 || w.joined > 1; }

    CK_TILE_CUDA_BOTH result_part row_part(int tile_row) const
    {
        const gemm_params& g = w.g;
        const int row        = place.at.first_row + tile_row;
        if(row >= g.m) { return {-1, 0}; }
        const int taps = g.filter[0] * g.filter[1] * g.filter[2];
        return {(static_cast<std::int64_t>(place.at.first_group) * g.out_channels + row) * taps *
                    channels(),
                shared_by_groups() ? w.group_filters.quotient(row) : 0};
    }

    CK_TILE_CUDA_BOTH result_part column_part(int tile_column) const
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

    // Pieces of 16 rows and 8 columns of a warp in which a row and a column have a group in common;
    // see hopper_exchange.
    CK_TILE_CUDA_BOTH std::uint64_t needed_pieces(int warp_row) const
    {
        std::uint64_t needed = ~std::uint64_t{0};
        if(!shared_by_groups()) { return needed; }
        constexpr int groups = Config::n / 8;
        const int rows       = w.g.m - place.at.first_row;
        for(int piece = 0; piece < Config::own_blocks * groups; ++piece)
        {
            const int row            = warp_row + piece / groups * 64;
            const result_part top    = row_part(row);
            const result_part bottom = row_part(row + 15 < rows ? row + 15 : rows - 1);
            const result_part left   = column_part(piece % groups * 8);
            const result_part right  = column_part(piece % groups * 8 + 7);
            // Groups of columns that do not exist are not known.
            const bool common = left.offset > -1 && top.group <= bottom.group &&
                                left.group <= bottom.group &&
                                (right.offset < 0 || top.group <= right.group);
            if(!common) { needed &= ~(std::uint64_t{1} << piece); }
        }
        return needed;
    }
};

} // namespace ck_tile::cuda_model
