// SPDX-License-Identifier: MIT
// Problems that engine W takes once operands have been copied: channels whose number is no multiple
// of 16 bytes get zeros behind them, and of few channels whole windows become rows of a matrix.
// Usable without a GPU.
//
// Images of few channels, backward data: with stride s, the s positions of an axis that no window
// tells apart become channels of one position. Then all windows have stride 1, one GEMM computes
// every element, and a last copy puts the channels where they belong.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "ck_tile/cuda_model/fast_divisor.hpp"
#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"

namespace ck_tile::cuda_model {

// Elements of 16 bits that a copy engine's lines are multiples of.
inline constexpr int copied_vector = 8;
// Images of fewer channels leave most of the 64 that a copy brings unused.
inline constexpr int few_channels = 16;

constexpr std::int64_t widened(std::int64_t channels, std::int64_t multiple)
{ return (channels + multiple - 1) / multiple * multiple; }

struct operand_rearrangement
{
    enum class kind
    {
        none,    // operands are taken as they are
        widen,   // zeros behind channels
        columns, // windows become rows
        phases,  // positions become channels: backward data
        refused
    };

    kind what = kind::none;
    host_model::conv_shape shape; // of the problem that engine W computes
    // Operands that are copied, and channels of a group that they have then.
    bool image = false, other = false;
    std::int64_t image_channels = 0, other_channels = 0;
};

namespace impl {

// Of the problem whose image has windows as rows.
constexpr host_model::conv_shape column_shape(const host_model::conv_shape& s, bool backward_data)
{
    host_model::conv_shape c;
    c.G = s.G, c.N = s.N, c.K = s.K, c.C = s.C;
    (backward_data ? c.K : c.C) *= host_model::volume(s.filter);
    for(int axis = 0; axis < 3; ++axis)
    {
        c.input[axis] = c.output[axis] = backward_data ? s.input[axis] : s.output[axis];
    }
    return c;
}

constexpr host_model::conv_shape phase_shape(const host_model::conv_shape& s)
{
    host_model::conv_shape c;
    c.G = s.G, c.N = s.N, c.K = s.K;
    c.C = s.C * host_model::volume(s.stride);
    for(int axis = 0; axis < 3; ++axis)
    {
        c.filter[axis] = (s.filter[axis] + s.stride[axis] - 1) / s.stride[axis];
        c.output[axis] = s.output[axis];
        c.input[axis]  = s.output[axis] + c.filter[axis] - 1;
    }
    return c;
}

} // namespace impl

// Of 16-bit operands that are not joined with other groups'.
inline operand_rearrangement plan_rearrangement(host_model::direction direction,
                                                const host_model::conv_shape& s)
{
    using kind        = operand_rearrangement::kind;
    const bool data   = direction == host_model::direction::backward_data;
    const bool weight = direction == host_model::direction::backward_weight;
    operand_rearrangement r{};
    r.shape      = s;
    bool strided = false, dilated = false;
    for(int axis = 0; axis < 3; ++axis)
    {
        strided = strided || s.stride[axis] > 1;
        dilated = dilated || (s.dilation[axis] > 1 && s.filter[axis] > 1);
    }
    const bool few = s.G == 1 && (data ? s.K : s.C) < few_channels;
    if(few && host_model::volume(s.filter) > 1 && !(data && strided))
    {
        r.what  = kind::columns;
        r.shape = impl::column_shape(s, data);
    }
    else if(data && s.G == 1 && s.C < few_channels && strided && !dilated)
    {
        r.what  = kind::phases;
        r.shape = impl::phase_shape(s);
    }
    const host_model::conv_shape& c = r.shape;
    const std::int64_t image        = data ? c.K : c.C;
    const std::int64_t other        = weight ? c.K : c.C;
    const bool columns              = r.what == kind::columns;
    static const int xw             = getenv("XW") ? atoi(getenv("XW")) : 64;
    static const int xc             = getenv("XC") ? atoi(getenv("XC")) : 8;
    static const bool xm = getenv("XM") != nullptr, xa = getenv("XA") != nullptr;
    // Copies begin at multiples of 16 bytes, those of a group too.
    r.image = columns || image % copied_vector != 0;
    r.other = r.what == kind::phases || other % copied_vector != 0;
    if(xa && s.G == 1)
    {
        r.image = r.image || image % 64 != 0;
        r.other = r.other || other % 64 != 0;
    }
    r.image_channels = r.image ? widened(image, columns ? xc : xw) : image;
    r.other_channels = r.other ? widened(other, xw) : other;
    if(r.what == kind::none && (r.image || r.other)) { r.what = xm ? kind::refused : kind::widen; }
    return r;
}

// Rows of `width` elements, `stride` apart, become rows of more, a multiple of copied_vector.
struct row_widening
{
    const std::uint16_t* from;
    std::uint16_t* to;
    int width;
    std::int64_t stride;
    int vector;              // elements that are read at once: 1, 2 or 4
    fast_divisor row_pieces; // of copied_vector elements
    int pieces;              // of all rows
};

// Two operands are copied by the blocks of one kernel.
struct two_widenings
{
    row_widening first, second;
    unsigned first_blocks;
};

// Windows become rows, in the order of weights: channels of a pixel, taps along W, along H, along
// D. A run is what a window has of one line of memory.
struct column_gathering
{
    const std::uint16_t* from;
    std::uint16_t* to;
    fast_divisor row_pieces;
    int pieces;
    fast_divisor run; // elements
    int runs;         // of a window
    int channels;
    fast_divisor taps[3]; // along W, those of a run count as one
    fast_divisor positions[3];
    int length[3], stride[3], dilation[3], pad[3];
};

// Phases of weights (filter, tap, channel) become channels.
struct weight_phases
{
    const std::uint16_t* from;
    std::uint16_t* to;
    int elements;            // of the result
    fast_divisor width;      // of a row, with the zeros behind it
    fast_divisor channels;   // of a phase
    fast_divisor taps[3];    // of the result
    fast_divisor strides[3]; // phases
    int filter[3];
};

// Weights (filter, tap, channel) as lines (tap from the last one on, filter) of channels.
struct weight_flip
{
    const std::uint16_t* from;
    std::uint16_t* to;
    int elements;       // of the result
    fast_divisor width; // of a line, with the zeros behind it
    fast_divisor filters;
    int taps, channels;
};

// Channels of a result become phases of an image.
struct image_phases
{
    const std::uint16_t* from;
    std::uint16_t* to;
    std::int64_t elements; // of the image
    fast_divisor channels;
    fast_divisor length[3];
    fast_divisor strides[3];
    int pad[3];
    int positions[3];
};

// Rows and pieces are counted by 31 bits.
inline constexpr std::int64_t most_pieces = (std::int64_t{1} << 31) - 1;

// Whether the copies that a plan asks for can be counted, and their memory be asked for.
constexpr bool is_countable(const operand_rearrangement& r, host_model::direction direction)
{
    const host_model::conv_shape& s = r.shape;
    const bool data                 = direction == host_model::direction::backward_data;
    const bool weight               = direction == host_model::direction::backward_weight;
    const std::int64_t input        = s.G * s.N * host_model::volume(s.input);
    const std::int64_t output       = s.G * s.N * host_model::volume(s.output);
    const std::int64_t filters      = s.G * s.K * host_model::volume(s.filter);
    const std::int64_t image        = (data ? output : input) * r.image_channels;
    const std::int64_t other        = (weight ? output : filters) * r.other_channels;
    const std::int64_t result       = data ? input * s.C : 0;
    return image < most_pieces && other < most_pieces && result < most_pieces;
}

} // namespace ck_tile::cuda_model
