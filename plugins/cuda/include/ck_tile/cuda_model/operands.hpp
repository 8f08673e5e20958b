// SPDX-License-Identifier: MIT
// Where the elements of the GEMM operands lie in memory, for each direction.
//
// A tile in shared memory consists of lines; the elements of a line are contiguous in memory. The
// offset of an element is the sum of a part that its row or column of the GEMM knows and one that
// its place along K knows; together they know whether it exists.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/gemm_params.hpp"
#include "ck_tile/cuda_model/tile_config.hpp"
#include "ck_tile/cuda_model/tile_place.hpp"

namespace ck_tile::cuda_model {

// The element exists if both of its parts have a bit in common.
struct address_part
{
    std::int64_t offset;
    std::uint32_t bits;
};

// The window of a row of the tile: its distance from the first one's, in vectors of A, and a bit
// for each of its taps.
struct window_row
{
    int vectors;
    std::uint32_t bits;
};

// The element exists if the sum of both positions is inside the image.
struct window_part
{
    std::int64_t offset;
    int d, h, w;
};

// A position that no displacement brings into an image.
inline constexpr int nowhere = -(1 << 29);

// Taps that the mask of a row has bits for; filters with more are multiplied in several turns.
inline constexpr int masked_taps = 32;

// How an operand's lines are found.
enum class line_kind
{
    linear,  // at equal distances
    windows, // rows of windows, which are kept in shared memory
    general
};

__device__ __forceinline__ address_part part_if(bool exists, std::int64_t offset)
{ return {offset, exists ? ~0u : 0u}; }

template <typename Config>
struct operands
{
    const gemm_params& p;
    const tile_place& at;
    const window_row* rows;    // of the tile, if they are windows; in shared memory
    std::int64_t first_window; // of the tile

    static constexpr bool forward = Config::direction == direction::forward;
    static constexpr bool data    = Config::direction == direction::backward_data;
    static constexpr bool weight  = Config::direction == direction::backward_weight;

    static constexpr line_kind a_kind = weight ? line_kind::linear : line_kind::windows;
    static constexpr line_kind b_kind =
        forward && Config::merged == 1 ? line_kind::linear : line_kind::general;

    // The window of a position that is counted over all images of the split.
    __device__ __forceinline__ window_part window(int position) const
    {
        int rest = position, index[3] = {0, 0, 0};
#pragma unroll
        for(int axis = 2; axis >= 3 - Config::dimensions; --axis)
        {
            const int next = p.positions[axis].quotient(rest);
            index[axis]    = p.positions[axis].remainder(rest, next);
            rest           = next;
        }
        window_part part{rest * p.image.image_stride, 0, 0, 0};
        int* place[3] = {&part.d, &part.h, &part.w};
#pragma unroll
        for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
        {
            const int origin = index[axis] * p.origin_scale[axis] + p.origin_offset[axis];
            *place[axis]     = origin;
            part.offset += origin * p.image.stride[axis];
        }
        return part;
    }

    // Displacement of a tap, plus a channel.
    __device__ __forceinline__ window_part tap(int tap_and_channel) const
    {
        const int tap = p.channels.quotient(tap_and_channel);
        window_part part{p.channels.remainder(tap_and_channel, tap), 0, 0, 0};
        int index[3];
        split_tap(tap, index);
        int* place[3] = {&part.d, &part.h, &part.w};
#pragma unroll
        for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
        {
            const int displacement = index[axis] * p.image.step[axis];
            *place[axis]           = displacement;
            part.offset += displacement * p.image.stride[axis];
        }
        return part;
    }

    __device__ __forceinline__ void split_tap(int tap, int (&index)[3]) const
    {
        int rest = tap;
        index[0] = index[1] = 0;
#pragma unroll
        for(int axis = 2; axis > 3 - Config::dimensions; --axis)
        {
            const bool fewer         = data && at.remainder[axis] >= p.full_taps[axis];
            const fast_divisor& taps = p.taps[axis][fewer ? 1 : 0];
            const int next           = taps.quotient(rest);
            index[axis]              = taps.remainder(rest, next);
            rest                     = next;
        }
        index[3 - Config::dimensions] = rest;
    }

    __device__ __forceinline__ window_row make_row(int line) const
    {
        const int row = at.first_row + line;
        if(row >= p.m) { return {0, 0}; }
        const window_part part    = window(row / Config::merged);
        const std::int64_t offset = part.offset + row % Config::merged - first_window;
        return {static_cast<int>(offset / Config::vector_a), existing_taps(part)};
    }

    // A bit for each tap of a window, from the place's first one on.
    __device__ __forceinline__ std::uint32_t existing_taps(const window_part& row) const
    {
        const int from[3] = {row.d, row.h, row.w};
        int taps[3]       = {1, 1, 1};
        const auto inside = [&](int axis, int index) {
            const int position = from[axis] + index * p.image.step[axis];
            return static_cast<unsigned>(position) < static_cast<unsigned>(p.image.length[axis]);
        };
        int all = 1;
#pragma unroll
        for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
        {
            const bool fewer = data && at.remainder[axis] >= p.full_taps[axis];
            taps[axis]       = static_cast<int>(p.taps[axis][fewer ? 1 : 0].divisor);
            all *= taps[axis];
        }
        if(all <= masked_taps)
        {
            // Each axis repeats the mask of those inside of it where a tap is inside.
            std::uint32_t mask = 1;
            int width          = 1;
#pragma unroll
            for(int axis = 2; axis >= 3 - Config::dimensions; --axis)
            {
                std::uint32_t repeated = 0;
#pragma unroll 1
                for(int index = 0; index < taps[axis]; ++index)
                {
                    repeated |= inside(axis, index) ? mask << (index * width) : 0u;
                }
                mask = repeated;
                width *= taps[axis];
            }
            return mask >> at.first_tap;
        }
        std::uint32_t mask = 0;
#pragma unroll 1
        for(int bit = 0; bit < masked_taps && at.first_tap + bit < all; ++bit)
        {
            int index[3];
            split_tap(at.first_tap + bit, index);
            bool exists = true;
#pragma unroll
            for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
            {
                exists = exists && inside(axis, index[axis]);
            }
            mask |= std::uint32_t{exists} << bit;
        }
        return mask;
    }

    __device__ __forceinline__ auto a_row(int element) const
    {
        if constexpr(weight)
        {
            const int row = at.first_row + element;
            return part_if(row < p.m, row);
        }
        else
        {
            const window_row row = rows[element];
            return address_part{std::int64_t{row.vectors} * Config::vector_a, row.bits};
        }
    }

    __device__ __forceinline__ auto a_k(int k) const
    {
        if constexpr(weight) { return part_if(k < at.k_end, k * a_distance()); }
        else
        {
            const int tap = p.channels.quotient(k);
            int index[3];
            split_tap(tap, index);
            std::int64_t offset = p.channels.remainder(k, tap);
#pragma unroll
            for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
            {
                offset += index[axis] * p.image.tap_distance[axis];
            }
            const unsigned bit = static_cast<unsigned>(tap - at.first_tap) % masked_taps;
            return address_part{offset, k < at.k_end ? 1u << bit : 0u};
        }
    }

    __device__ __forceinline__ auto b_column(int element) const
    {
        const int column  = at.first_column + element;
        const bool exists = column < p.n;
        if constexpr(forward)
        {
            const std::int64_t group = column % Config::merged;
            return part_if(exists, (group * p.out_channels + column / Config::merged) * p.k);
        }
        else if constexpr(weight)
        {
            window_part part = tap(exists ? column : 0);
            if(!exists) { part.w = nowhere; }
            return part;
        }
        else
        {
            return part_if(exists, column);
        }
    }

    __device__ __forceinline__ auto b_k(int k) const
    {
        const bool exists = k < at.k_end;
        if constexpr(forward) { return part_if(exists, k); }
        else if constexpr(weight)
        {
            window_part part = window(exists ? k : 0);
            if(!exists) { part.w = nowhere; }
            return part;
        }
        else
        {
            const int tap     = p.channels.quotient(k);
            const int channel = p.channels.remainder(k, tap);
            int index[3];
            split_tap(tap, index);
            int filter = 0;
#pragma unroll
            for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
            {
                filter = filter * p.filter[axis] + index[axis] * p.tilde[axis] + at.remainder[axis];
            }
            const int filters = p.filter[0] * p.filter[1] * p.filter[2];
            return part_if(exists,
                           (static_cast<std::int64_t>(channel) * filters + filter) * p.in_channels);
        }
    }

    // Elements between lines that are at equal distances.
    __device__ __forceinline__ std::int64_t a_distance() const
    { return static_cast<std::int64_t>(p.groups) * p.out_channels; }
    __device__ __forceinline__ std::int64_t b_distance() const { return p.k; }

    // Of the first element of the block's groups and images; of the tile's first window.
    __device__ __forceinline__ std::int64_t a_start() const
    {
        const std::int64_t group = at.first_group;
        return forward ? group * p.in_channels + at.first_image * p.image_elements + first_window
               : data  ? group * p.out_channels + at.first_image * p.image_elements + first_window
                       : group * p.out_channels;
    }

    __device__ __forceinline__ std::int64_t b_start() const
    {
        const std::int64_t group = at.first_group;
        const std::int64_t filters =
            static_cast<std::int64_t>(p.filter[0]) * p.filter[1] * p.filter[2];
        return weight ? group * p.in_channels : group * p.out_channels * filters * p.in_channels;
    }

    __device__ __forceinline__ bool exists(const address_part& side,
                                           const address_part& depth) const
    { return (side.bits & depth.bits) != 0; }

    __device__ __forceinline__ bool exists(const window_part& side, const window_part& depth) const
    {
        const int sum[3] = {side.d + depth.d, side.h + depth.h, side.w + depth.w};
        bool inside      = true;
#pragma unroll
        for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
        {
            inside = inside &&
                     static_cast<unsigned>(sum[axis]) < static_cast<unsigned>(p.image.length[axis]);
        }
        return inside;
    }
};

} // namespace ck_tile::cuda_model
