// SPDX-License-Identifier: MIT
// A convolution problem at run time, independent of its number of dimensions.
#pragma once

#include <cstdint>

namespace ck_tile::host_model {

// Spatial arrays are ordered D,H,W; a problem of fewer dimensions has length 1, stride 1, dilation
// 1 and pad 0 on the missing leading axes. K and C are per group. All counts in elements.
struct conv_shape
{
    std::int64_t G = 0, N = 0, K = 0, C = 0;
    std::int64_t filter[3]    = {1, 1, 1};
    std::int64_t input[3]     = {1, 1, 1};
    std::int64_t output[3]    = {1, 1, 1};
    std::int64_t stride[3]    = {1, 1, 1};
    std::int64_t dilation[3]  = {1, 1, 1};
    std::int64_t left_pad[3]  = {0, 0, 0};
    std::int64_t right_pad[3] = {0, 0, 0};
};

constexpr std::int64_t volume(const std::int64_t (&lengths)[3])
{ return lengths[0] * lengths[1] * lengths[2]; }

// Copies a ConvParam (any type with its members) of 1 to 3 dimensions.
template <typename ConvParam>
conv_shape make_conv_shape(const ConvParam& param)
{
    conv_shape shape;
    shape.G              = param.G_;
    shape.N              = param.N_;
    shape.K              = param.K_;
    shape.C              = param.C_;
    const int dimensions = static_cast<int>(param.num_dim_spatial_);
    for(int i = 0; i < dimensions; ++i)
    {
        const int axis        = 3 - dimensions + i;
        const auto at         = static_cast<unsigned>(i);
        shape.filter[axis]    = param.filter_spatial_lengths_[at];
        shape.input[axis]     = param.input_spatial_lengths_[at];
        shape.output[axis]    = param.output_spatial_lengths_[at];
        shape.stride[axis]    = param.conv_filter_strides_[at];
        shape.dilation[axis]  = param.conv_filter_dilations_[at];
        shape.left_pad[axis]  = param.input_left_pads_[at];
        shape.right_pad[axis] = param.input_right_pads_[at];
    }
    return shape;
}

} // namespace ck_tile::host_model
