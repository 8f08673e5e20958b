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

#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"

namespace ck_tile::cuda_model {

// Elements of 16 bits that a copy engine's lines are multiples of.
inline constexpr int copied_vector = 8;
// Of a row in shared memory. Copies of lines that end before that take several times as long, so
// that it is worth to write zeros up to there; but of columns, which are large, too many.
inline constexpr int copied_channels = 64;
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
        phases   // positions become channels: backward data
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
constexpr operand_rearrangement plan_rearrangement(host_model::direction direction,
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
    // Copies begin at multiples of 16 bytes, those of a group too.
    r.image          = columns || image % copied_vector != 0;
    r.other          = r.what == kind::phases || (data && columns) || other % copied_vector != 0;
    r.image_channels = r.image ? widened(image, columns ? copied_vector : copied_channels) : image;
    r.other_channels = r.other ? widened(other, copied_channels) : other;
    if(r.what == kind::none && (r.image || r.other)) { r.what = kind::widen; }
    return r;
}

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
