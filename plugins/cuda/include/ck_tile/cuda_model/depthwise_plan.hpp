// SPDX-License-Identifier: MIT
// Convolutions of groups with one channel on channels-last images: no products are shared, so that
// a GEMM of joined groups would compute 64 times too many. A lane has a channel; a warp's tile is
// some rows and columns of positions, over which it passes the window of another image once.
//
// Weight gradients have output gradients as positions and read windows of the input. Outputs and
// input gradients are positions themselves, which the weights connect with the image that is read.
// Usable without a GPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ck_tile/cuda_model/float_types.hpp"
#include "ck_tile/host_model/conv_shape.hpp"

namespace ck_tile::cuda_model {

inline constexpr int depthwise_lanes          = 32; // channels of a block
inline constexpr int depthwise_most_warps     = 4;  // of a block, side by side in an image's row
inline constexpr int depthwise_largest_filter = 7;
inline constexpr int depthwise_vector         = 4; // channels that are copied at once, at least

// Blocks that a multiprocessor has registers for, at least.
template <int Size>
inline constexpr int depthwise_resident = Size == 3 ? 6 : 4;

// gather: position i depends on elements Stride * i + tap of its window; scatter: element i of the
// window reaches positions Stride * i + tap, counted from a place that is a multiple of the stride.
template <bool Scatter, int Stride, int Size, int Rows, int Columns>
struct depthwise_tile
{
    static constexpr bool scatter = Scatter;
    static constexpr int stride = Stride, size = Size, rows = Rows, columns = Columns;
    static_assert(!scatter || (Rows % Stride == 0 && Columns % Stride == 0));

    // Of the image that is read, along an axis: what so many positions depend on, and how far that
    // moves from one tile to the next.
    static constexpr int window(int positions)
    { return scatter ? positions / Stride + (Size - 1) / Stride : (positions - 1) * Stride + Size; }
    static constexpr int advance(int positions)
    { return scatter ? positions / Stride : positions * Stride; }

    // Rows above and below of a window, which the first and the last tile often have in pads.
    static constexpr int window_edge = (Size - 1) / 2 / (Scatter ? Stride : 1);

    // Which tap connects them, both counted from the tile's first one; none outside [0, Size).
    static constexpr int tap(int position, int element)
    { return scatter ? position + Size - 1 - Stride * element : element - Stride * position; }
};

template <int Stride, int Size, int Rows, int Columns>
using depthwise_gather = depthwise_tile<false, Stride, Size, Rows, Columns>;
template <int Stride, int Size, int Rows, int Columns>
using depthwise_scatter = depthwise_tile<true, Stride, Size, Rows, Columns>;

// What a launch passes to its kernel. Images are N,H,W,G in memory, weights G,Y,X; arrays are
// height, width.
struct depthwise_plan
{
    const void* image; // that is read
    const void* other; // gradients of the positions, or weights
    void* result;      // weights, or positions
    float* partial;    // part, y, x, g: of weights, of a square of taps
    int groups, images;
    int length[2]; // of `image`
    int positions[2];
    int filter[2];
    int first_position[2]; // of the first tile
    int first_element[2];  // of its window
    bool mirrored;         // weights are read from the last one on
    int hidden;            // rows of the first window of an image that are never read: pads
    int row_tiles;         // of an image
    int column_tiles;      // each `warps` tiles
    int warps;
    int parts; // blocks that share the tiles of the same columns and channels
};

constexpr int depthwise_chunks(std::int64_t groups)
{ return static_cast<int>((groups + depthwise_lanes - 1) / depthwise_lanes); }

inline unsigned depthwise_blocks(const depthwise_plan& p)
{
    return static_cast<unsigned>(depthwise_chunks(p.groups)) *
           static_cast<unsigned>(p.column_tiles) * static_cast<unsigned>(p.parts);
}

// For filters in squares of that size.
inline std::size_t depthwise_partial_sums(const depthwise_plan& p, int size)
{
    return static_cast<std::size_t>(p.parts) * static_cast<std::size_t>(p.column_tiles) *
           static_cast<std::size_t>(size * size) * static_cast<std::size_t>(p.groups);
}

// Rows of images are as good as images where windows have one row.
constexpr host_model::conv_shape join_rows(host_model::conv_shape s)
{
    if(s.filter[1] == 1 && s.stride[1] == 1 && s.stride[2] == 1 && s.left_pad[1] == 0 &&
       s.right_pad[1] == 0)
    {
        s.input[1] *= s.N;
        s.output[1] *= s.N;
        s.N = 1;
    }
    return s;
}

// Whether the kernels for single channels compute that shape; others are left to implicit GEMM.
constexpr bool is_depthwise(const host_model::conv_shape& s)
{
    const bool flat = s.filter[0] == 1 && s.input[0] == 1 && s.output[0] == 1;
    // The only row of output has no neighbour at a distance.
    const bool regular = s.stride[1] == s.stride[2] || s.output[1] == 1;
    // Numbers of rows, and the bytes between two, are 32-bit integers.
    bool small = s.N * std::max(s.input[1], s.output[1]) < 1 << 30 &&
                 std::max(s.input[2], s.output[2]) < 1 << 24 && s.G < 1 << 24 &&
                 std::max(s.input[2], s.output[2]) * s.G < 1 << 29;
    for(int axis = 1; axis < 3; ++axis)
    {
        small = small && s.filter[axis] <= depthwise_largest_filter &&
                (s.dilation[axis] == 1 || s.filter[axis] == 1) && s.left_pad[axis] < 1 << 24;
    }
    return flat && regular && small && s.C == 1 && s.K == 1 && s.G % depthwise_vector == 0 &&
           (s.stride[2] == 1 || s.stride[2] == 2);
}

// Whether there is such a kernel.
constexpr bool has_depthwise_kernel(host_model::direction direction,
                                    const host_model::conv_shape& s,
                                    host_model::data_type operands,
                                    host_model::data_type result)
{
    const bool weight = direction == host_model::direction::backward_weight;
    return is_depthwise(s) && impl::is_float_type(operands) &&
           (weight ? impl::is_float_type(result) : operands == result);
}

// The smallest of 3, 5 and 7 that holds the filter.
constexpr int depthwise_filter_size(const host_model::conv_shape& s)
{
    const std::int64_t longest = std::max(s.filter[1], s.filter[2]);
    return longest <= 3 ? 3 : longest <= 5 ? 5 : 7;
}

namespace impl {

inline void share_tiles(depthwise_plan& p, int rows, int columns)
{
    const auto tiles = [&](int axis, int length) {
        return (p.positions[axis] - p.first_position[axis] + length - 1) / length;
    };
    const int across = tiles(1, columns);
    p.row_tiles      = tiles(0, rows);
    p.column_tiles   = (across + depthwise_most_warps - 1) / depthwise_most_warps;
    p.warps          = (across + p.column_tiles - 1) / p.column_tiles;
}

} // namespace impl

// `backward`: positions are the input, whose gradients are made from `image`, the output's.
template <typename Tile>
depthwise_plan make_depthwise_plan(const host_model::conv_shape& shape, bool backward)
{
    const host_model::conv_shape s = join_rows(shape);
    depthwise_plan p{};
    p.groups   = static_cast<int>(s.G);
    p.images   = static_cast<int>(s.N);
    p.mirrored = backward && !Tile::scatter;
    for(int axis = 0; axis < 2; ++axis)
    {
        const auto input  = static_cast<int>(s.input[axis + 1]);
        const auto output = static_cast<int>(s.output[axis + 1]);
        const auto pad    = static_cast<int>(s.left_pad[axis + 1]);
        p.filter[axis]    = static_cast<int>(s.filter[axis + 1]);
        p.length[axis]    = backward ? output : input;
        p.positions[axis] = backward ? input : output;
        if(!backward) { p.first_element[axis] = -pad; }
        else if(Tile::scatter)
        {
            p.first_position[axis] = -(pad % Tile::stride);
            p.first_element[axis]  = pad / Tile::stride - (Tile::size - 1) / Tile::stride;
        }
        else
        {
            p.first_element[axis] = pad - (Tile::size - 1);
        }
    }
    // The next window must not have them either.
    const bool hides =
        Tile::advance(Tile::rows) >= Tile::window_edge && p.first_element[0] <= -Tile::window_edge;
    p.hidden = hides ? Tile::window_edge : 0;
    impl::share_tiles(p, Tile::rows, Tile::columns);
    return p;
}

// `slots`: blocks that the device runs at the same time.
inline void share_depthwise_plan(depthwise_plan& p, int slots)
{
    const std::int64_t columns = std::int64_t{depthwise_chunks(p.groups)} * p.column_tiles;
    const std::int64_t wanted  = std::max<std::int64_t>(1, slots / columns);
    p.parts = static_cast<int>(std::min(wanted, std::int64_t{p.images} * p.row_tiles));
}

} // namespace ck_tile::cuda_model
