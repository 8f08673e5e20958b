// SPDX-License-Identifier: MIT
// Where the elements of a tile's result belong, for each direction.
#pragma once

#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/cuda_model/fused_operation.hpp"
#include "ck_tile/cuda_model/operands.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
struct fused_put;

template <typename Config>
struct result_place
{
    using element = stored_t<Config::e_type>;
    using staged  = stored_t<staged_type<Config>>;

    const gemm_params& p;
    const tile_place& at;
    bool add; // several parts of K share the result
    const typename Config::fused& fused;

    // The elements of neighbouring columns that are stored together.
    static constexpr int vector = Config::ab_type == data_type::fp32 ? 1 : Config::vector_c;

    // An element's offset is the sum of a part that its row knows and one that its column knows,
    // negative where there is none; forward and backward data without merged groups.
    __device__ __forceinline__ std::int64_t row_part(int row) const
    {
        const std::int64_t image = at.first_image * p.result_image_elements;
        if constexpr(Config::direction == direction::forward)
        {
            return image +
                   (static_cast<std::int64_t>(row) * p.groups + at.first_group) * p.out_channels;
        }
        else
        {
            const std::int64_t pixel = input_pixel(row);
            return pixel < 0 ? -1 : image + (pixel * p.groups + at.first_group) * p.in_channels;
        }
    }
    __device__ __forceinline__ std::int64_t column_part(int tile_column) const
    {
        const int column = at.first_column + tile_column;
        return column < p.n ? column : -1;
    }

    // The same for a row of the tile, negative after the last one of the GEMM.
    __device__ __forceinline__ std::int64_t row_at(int tile_row) const
    {
        const int number = at.first_row + tile_row;
        return number < p.m ? row_part(number) : -1;
    }

    // Whether that holds for this kernel.
    static constexpr bool separable =
        Config::direction != direction::backward_weight && Config::merged == 1;

    // What puts vectors into memory where an operation is fused.
    __device__ __forceinline__ fused_put<Config> combining() const { return {*this}; }

    // Stores a warp's lines of the tile from shared memory.
    template <int Lines, int Columns>
    __device__ __forceinline__ void
    store_lines(int first_row, int first_column, const char* lines, int line_bytes) const
    {
        constexpr int pieces = Columns / vector; // of a line
        const int lane       = threadIdx.x % 32;
        if constexpr(Config::fused::exists)
        {
            const auto values = [&](int round) {
                const int index = lane + round * 32;
                return reinterpret_cast<const staged*>(lines + index / pieces * line_bytes) +
                       index % pieces * vector;
            };
            put_rounds<divide_up(Lines * pieces, 32), 32 % pieces == 0>(
                combining(),
                [&](int round) {
                    const int line = (lane + round * 32) / pieces;
                    return line < Lines ? row_at(first_row + line) : -1;
                },
                [&](int round) {
                    return column_part(first_column + (lane + round * 32) % pieces * vector);
                },
                values,
                [] {});
        }
        else
        {
#pragma unroll 4
            for(int index = lane; index < Lines * pieces; index += 32)
            {
                const int number          = at.first_row + first_row + index / pieces;
                const int piece           = index % pieces * vector;
                const std::int64_t row    = number < p.m ? row_part(number) : -1;
                const std::int64_t column = column_part(first_column + piece);
                if(row < 0 || column < 0) { continue; }
                element* to = static_cast<element*>(p.result) + row + column;
                const auto* values =
                    reinterpret_cast<const element*>(lines + index / pieces * line_bytes) + piece;
                if constexpr(Config::direction == direction::backward_data)
                {
                    if(add)
                    {
                        add_to_memory<Config::e_type, vector>(to, values);
                        continue;
                    }
                }
                using raw = typename raw_vector<vector* static_cast<int>(sizeof(element))>::type;
                *reinterpret_cast<raw*>(to) = *reinterpret_cast<const raw*>(values);
            }
        }
    }

    // Null where there is none: beyond the GEMM, beyond the image, products of different groups.
    __device__ __forceinline__ element* find(int tile_row, int tile_column) const
    {
        const int row = at.first_row + tile_row, column = at.first_column + tile_column;
        if(row >= p.m || column >= p.n) { return nullptr; }
        element* result = static_cast<element*>(p.result);
        if constexpr(Config::direction == direction::forward)
        {
            result += at.first_image * p.result_image_elements;
            const int merged = Config::merged;
            if(row % merged != column % merged) { return nullptr; }
            return result + ((static_cast<std::int64_t>(row / merged) * p.groups + at.first_group +
                              row % merged) *
                                 p.out_channels +
                             column / merged);
        }
        else if constexpr(Config::direction == direction::backward_data)
        {
            const std::int64_t pixel = input_pixel(row);
            return pixel < 0 ? nullptr
                             : result + at.first_image * p.result_image_elements +
                                   (pixel * p.groups + at.first_group) * p.in_channels + column;
        }
        else
        {
            const std::int64_t taps =
                static_cast<std::int64_t>(p.filter[0]) * p.filter[1] * p.filter[2];
            // Rows (gm,k) follow one another in memory across merged groups.
            element* line =
                result + (static_cast<std::int64_t>(at.first_group) * p.out_channels + row) * taps *
                             p.in_channels;
            if constexpr(Config::merged == 1) { return line + column; }
            else
            {
                const int tap     = p.channels.quotient(column);
                const int rest    = p.channels.remainder(column, tap);
                const int channel = rest % p.in_channels;
                if(rest / p.in_channels != row / p.out_channels) { return nullptr; }
                return line + (static_cast<std::int64_t>(tap) * p.in_channels + channel);
            }
        }
    }

    // Backward data: the input position that a row stands for; negative outside the image.
    __device__ __forceinline__ std::int64_t input_pixel(int row) const
    {
        if(p.rows_are_pixels) { return row; }
        int rest = row, index[3] = {0, 0, 0};
#pragma unroll
        for(int axis = 2; axis >= 3 - Config::dimensions; --axis)
        {
            const int next = p.positions[axis].quotient(rest);
            index[axis]    = p.positions[axis].remainder(rest, next) + p.origin_offset[axis];
            rest           = next;
        }
        std::int64_t pixel = rest;
#pragma unroll
        for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
        {
            const int position = at.remainder[axis] * p.remainder_step[axis] +
                                 index[axis] * p.position_step[axis] - p.left_pad[axis];
            if(position < 0 || position >= p.result_length[axis]) { return -1; }
            pixel = pixel * p.result_length[axis] + position;
        }
        return pixel;
    }

    // Of all groups, forward.
    __device__ __forceinline__ std::int64_t channel_at(int tile_row, int tile_column) const
    {
        const int row = at.first_row + tile_row, column = at.first_column + tile_column;
        return static_cast<std::int64_t>(at.first_group + row % Config::merged) * p.out_channels +
               column / Config::merged;
    }

    __device__ __forceinline__ void operator()(int row, int column, const staged* values) const
    {
        element* destination = find(row, column);
        if(destination == nullptr) { return; }
        if constexpr(Config::fused::exists)
        {
            const std::int64_t offset = destination - static_cast<element*>(p.result);
            const auto read = fused.template read<vector>(offset, channel_at(row, column));
            combining().store(offset, read, values);
        }
        else if(add) { add_to_memory<Config::e_type, vector>(destination, values); }
        else
        {
            using raw = typename raw_vector<vector* static_cast<int>(sizeof(element))>::type;
            *reinterpret_cast<raw*>(destination) = *reinterpret_cast<const raw*>(values);
        }
    }
};

// Combines neighbouring elements and stores them: the one place where that is done. What is said of
// a row and of a column is what result_place knows of them, negative where there is nothing.
template <typename Config>
struct fused_put
{
    using place   = result_place<Config>;
    using element = typename place::element;
    using staged  = typename place::staged;

    static constexpr int vector = place::vector;

    using elements               = typename Config::fused::template elements<vector>;
    static constexpr int at_once = Config::fused::template at_once<vector>;

    const place& result;

    __device__ __forceinline__ elements read(std::int64_t row, std::int64_t column) const
    {
        if(row < 0 || column < 0) { return elements{}; }
        const std::int64_t first_channel =
            static_cast<std::int64_t>(result.at.first_group) * result.p.out_channels;
        return result.fused.template read<vector>(row + column, first_channel + column);
    }

    __device__ __forceinline__ void operator()(std::int64_t row,
                                               std::int64_t column,
                                               const elements& read,
                                               const staged* values) const
    {
        if(row >= 0 && column >= 0) { store(row + column, read, values); }
    }

    __device__ __forceinline__ void
    store(std::int64_t offset, const elements& read, const staged* values) const
    {
        constexpr int bytes = vector * static_cast<int>(sizeof(staged));
        constexpr int piece = bytes < 16 ? bytes : 16;
        using sum_raw       = typename raw_vector<piece>::type;
        using raw           = typename raw_vector<vector* static_cast<int>(sizeof(element))>::type;
        alignas(sum_raw) staged sums[vector];
        alignas(raw) element results[vector];
#pragma unroll
        for(int i = 0; i < bytes / piece; ++i)
        {
            reinterpret_cast<sum_raw*>(sums)[i] = reinterpret_cast<const sum_raw*>(values)[i];
        }
        result.fused.template apply<staged_type<Config>, Config::e_type, Config::rounding, vector>(
            sums, read, results);
        *reinterpret_cast<raw*>(static_cast<element*>(result.p.result) + offset) =
            *reinterpret_cast<const raw*>(results);
    }
};

} // namespace ck_tile::cuda_model
