// SPDX-License-Identifier: MIT
// Where the elements of the GEMM operands lie in memory, for each direction.
//
// A tile in shared memory consists of lines; the elements of a line are contiguous in memory. The
// address of an element is the sum of a part that its line knows and one that its place in the line
// knows, and so is its position in the image, where it must not be outside.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/gemm_params.hpp"
#include "ck_tile/cuda_model/tile_config.hpp"
#include "ck_tile/cuda_model/tile_place.hpp"

namespace ck_tile::cuda_model {

struct address_part
{
    std::int64_t offset;
    int d, h, w;
};

// A position that no displacement brings into an image.
inline constexpr int nowhere = -(1 << 29);

// Filters of at most so many taps have masks: a row knows of each tap whether its position exists.
// One bit is left for what lies behind the last tap.
inline constexpr int most_masked_taps = 63;

template <typename Config>
struct operands
{
    const gemm_params& p;
    const tile_place& at;
    const address_part* rows; // of the windowed rows of a tile; in shared memory

    static constexpr bool forward = Config::direction == direction::forward;
    static constexpr bool data    = Config::direction == direction::backward_data;
    static constexpr bool weight  = Config::direction == direction::backward_weight;

    __device__ __forceinline__ address_part absent() const
    { return {0, nowhere, nowhere, nowhere}; }

    // The window of a position that is counted over all images of the split.
    __device__ __forceinline__ address_part window(int position) const
    {
        int rest = position, index[3] = {0, 0, 0};
#pragma unroll
        for(int axis = 2; axis >= 3 - Config::dimensions; --axis)
        {
            const int next = p.positions[axis].quotient(rest);
            index[axis]    = p.positions[axis].remainder(rest, next);
            rest           = next;
        }
        address_part part{rest * p.image.image_stride, 0, 0, 0};
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
    __device__ __forceinline__ address_part tap(int tap_and_channel) const
    {
        const int tap = p.channels.quotient(tap_and_channel);
        address_part part{p.channels.remainder(tap_and_channel, tap), 0, 0, 0};
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

    // Row of a tile: a window of A. Kept in shared memory for the length of a tile.
    __device__ __forceinline__ address_part make_row(int line) const
    {
        const int row = at.first_row + line;
        if(row >= p.m) { return masked() ? address_part{0, 0, 0, 0} : absent(); }
        const int position = row / Config::merged;
        address_part part  = window(position);
        part.offset += row % Config::merged;
        if(masked())
        {
            const std::uint64_t mask = existing_taps(part);
            part.h                   = static_cast<int>(mask >> 32);
            part.w                   = static_cast<int>(mask);
        }
        return part;
    }

    __device__ __forceinline__ bool masked() const
    { return p.filter[0] * p.filter[1] * p.filter[2] <= most_masked_taps; }

    // A bit for each tap of a window.
    __device__ __forceinline__ std::uint64_t existing_taps(const address_part& row) const
    {
        std::uint64_t mask = 0;
        int taps           = 1;
#pragma unroll
        for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
        {
            const bool fewer = data && at.remainder[axis] >= p.full_taps[axis];
            taps *= static_cast<int>(p.taps[axis][fewer ? 1 : 0].divisor);
        }
#pragma unroll 1
        for(int number = 0; number < taps; ++number)
        {
            int index[3];
            split_tap(number, index);
            const int from[3] = {row.d, row.h, row.w};
            bool inside       = true;
#pragma unroll
            for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
            {
                const int position = from[axis] + index[axis] * p.image.step[axis];
                inside             = inside && static_cast<unsigned>(position) <
                                                   static_cast<unsigned>(p.image.length[axis]);
            }
            mask |= std::uint64_t{inside} << number;
        }
        return mask;
    }

    // The same as tap(), with the number of the tap for masks.
    __device__ __forceinline__ address_part numbered_tap(int tap_and_channel) const
    {
        if(tap_and_channel >= at.k_end) { return {0, 0, 0, most_masked_taps}; }
        address_part part = tap(tap_and_channel);
        part.w            = p.channels.quotient(tap_and_channel);
        return part;
    }

    __device__ __forceinline__ address_part a_line(int line, int k0) const
    {
        if constexpr(!weight) { return rows[line]; }
        else
        {
            const int k = k0 + line;
            if(k >= at.k_end) { return absent(); }
            return {static_cast<std::int64_t>(k) * p.groups * p.out_channels, 0, 0, 0};
        }
    }

    __device__ __forceinline__ address_part a_column(int element, int k0) const
    {
        if constexpr(!weight) { return k0 + element < at.k_end ? tap(k0 + element) : absent(); }
        else
        {
            const int row = at.first_row + element;
            return row < p.m ? address_part{row, 0, 0, 0} : absent();
        }
    }

    __device__ __forceinline__ address_part b_line(int line, int k0) const
    {
        if constexpr(forward)
        {
            const int column = at.first_column + line;
            if(column >= p.n) { return absent(); }
            const int group = column % Config::merged;
            return {(static_cast<std::int64_t>(group) * p.out_channels + column / Config::merged) *
                        p.k,
                    0,
                    0,
                    0};
        }
        else
        {
            const int k = k0 + line;
            if(k >= at.k_end) { return absent(); }
            if constexpr(weight) { return window(k); }
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
                    filter =
                        filter * p.filter[axis] + index[axis] * p.tilde[axis] + at.remainder[axis];
                }
                const int filters = p.filter[0] * p.filter[1] * p.filter[2];
                return {(static_cast<std::int64_t>(channel) * filters + filter) * p.in_channels,
                        0,
                        0,
                        0};
            }
        }
    }

    __device__ __forceinline__ address_part b_column(int element, int k0) const
    {
        if constexpr(forward)
        {
            return k0 + element < at.k_end ? address_part{k0 + element, 0, 0, 0} : absent();
        }
        else
        {
            const int column = at.first_column + element;
            if(column >= p.n) { return absent(); }
            if constexpr(weight) { return tap(column); }
            else
            {
                return {column, 0, 0, 0};
            }
        }
    }

    // Of the first element of the block's groups and images.
    __device__ __forceinline__ std::int64_t a_start() const
    {
        const std::int64_t group = at.first_group;
        return forward ? group * p.in_channels + at.first_image * p.image_elements
               : data  ? group * p.out_channels + at.first_image * p.image_elements
                       : group * p.out_channels;
    }

    __device__ __forceinline__ std::int64_t b_start() const
    {
        const std::int64_t group = at.first_group;
        const std::int64_t filters =
            static_cast<std::int64_t>(p.filter[0]) * p.filter[1] * p.filter[2];
        return weight ? group * p.in_channels : group * p.out_channels * filters * p.in_channels;
    }

    static constexpr bool a_windowed = !weight;
    static constexpr bool b_windowed = weight;
};

// The same by the mask of a row and the number of a tap.
__device__ __forceinline__ bool has_tap(const address_part& row, const address_part& tap)
{
    const auto bits = static_cast<unsigned>(tap.w < 32 ? row.w : row.h);
    return (bits >> (tap.w & 31) & 1u) != 0;
}

// Whether the element exists.
template <typename Config, bool Windowed, typename Params>
__device__ __forceinline__ bool
resolve(const Params& p, const address_part& line, const address_part& column)
{
    if constexpr(!Windowed) { return line.w + column.w >= 0; }
    else
    {
        bool inside =
            static_cast<unsigned>(line.w + column.w) < static_cast<unsigned>(p.image.length[2]);
        if constexpr(Config::dimensions >= 2)
        {
            inside = inside && static_cast<unsigned>(line.h + column.h) <
                                   static_cast<unsigned>(p.image.length[1]);
        }
        if constexpr(Config::dimensions >= 3)
        {
            inside = inside && static_cast<unsigned>(line.d + column.d) <
                                   static_cast<unsigned>(p.image.length[0]);
        }
        return inside;
    }
}

} // namespace ck_tile::cuda_model
