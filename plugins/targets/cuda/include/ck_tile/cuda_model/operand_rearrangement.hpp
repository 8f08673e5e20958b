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

#include "ck_tile/cuda_model/fast_divisor.hpp"
#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"

namespace ck_tile::cuda_model {

// Elements of 16 bits that a copy engine's lines are multiples of.
inline constexpr int copied_vector = 8;
// Images of fewer channels leave most of the 64 that a copy brings unused.
inline constexpr int few_channels = 16;

constexpr std::int64_t widened(std::int64_t channels)
{ return (channels + copied_vector - 1) / copied_vector * copied_vector; }

struct operand_rearrangement
{
    enum class kind
    {
        none,    // operands are taken as they are
        widen,   // zeros behind channels
        columns, // windows become rows: forward and backward weight
        phases   // positions become channels: backward data
    };

    kind what = kind::none;
    host_model::conv_shape shape; // of the problem that engine W computes
    // Operands that are copied, and channels of a group that they have then.
    bool image = false, other = false;
    std::int64_t image_channels = 0, other_channels = 0;
};

namespace impl {

constexpr host_model::conv_shape column_shape(const host_model::conv_shape& s)
{
    host_model::conv_shape c;
    c.G = s.G, c.N = s.N, c.K = s.K;
    c.C = s.C * host_model::volume(s.filter);
    for(int axis = 0; axis < 3; ++axis) { c.input[axis] = c.output[axis] = s.output[axis]; }
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
constexpr operand_rearrangement plan_rearrangement(host_model::direction direction,
                                                   const host_model::conv_shape& s)
{
    using kind        = operand_rearrangement::kind;
    const bool data   = direction == host_model::direction::backward_data;
    const bool weight = direction == host_model::direction::backward_weight;
    operand_rearrangement r{};
    r.shape = s;
    if(s.G == 1 && s.C < few_channels)
    {
        bool strided = false, dilated = false;
        for(int axis = 0; axis < 3; ++axis)
        {
            strided = strided || s.stride[axis] > 1;
            dilated = dilated || (s.dilation[axis] > 1 && s.filter[axis] > 1);
        }
        if(!data && host_model::volume(s.filter) > 1)
        {
            r.what  = kind::columns;
            r.shape = impl::column_shape(s);
        }
        else if(data && strided && !dilated)
        {
            r.what  = kind::phases;
            r.shape = impl::phase_shape(s);
        }
    }
    const host_model::conv_shape& c = r.shape;
    r.image_channels                = widened(data ? c.K : c.C);
    r.other_channels                = widened(weight ? c.K : c.C);
    const auto is_odd = [](std::int64_t channels) { return channels % copied_vector != 0; };
    r.image           = r.what == kind::columns || is_odd(c.G * (data ? c.K : c.C));
    // Of weights, each group's lines begin anew.
    r.other = r.what == kind::phases || is_odd(weight ? c.G * c.K : c.C);
    if(!r.image) { r.image_channels = data ? c.K : c.C; }
    if(!r.other) { r.other_channels = weight ? c.K : c.C; }
    if(r.what == kind::none && (r.image || r.other)) { r.what = kind::widen; }
    return r;
}

// Rows of `width` elements become rows of more, a multiple of copied_vector.
struct row_widening
{
    const std::uint16_t* from;
    std::uint16_t* to;
    int width;
    fast_divisor row_pieces; // of copied_vector elements
    int pieces;              // of all rows
};

// Windows become rows, in the order of weights; channels of a pixel, taps along W, along H, along
// D.
struct column_gathering
{
    const std::uint16_t* from;
    std::uint16_t* to;
    int width; // of a row, without the zeros behind it
    fast_divisor row_pieces;
    int pieces;
    fast_divisor channels;
    fast_divisor taps[3], positions[3];
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
