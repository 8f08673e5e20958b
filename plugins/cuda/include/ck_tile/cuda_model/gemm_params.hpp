// SPDX-License-Identifier: MIT
// The run-time side of an implicit GEMM: what a launch passes to its kernel, made from the calls
// of the host model. Usable without a GPU.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "ck_tile/cuda_model/fast_divisor.hpp"
#include "ck_tile/host_model/backward_data.hpp"
#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/forward.hpp"

namespace ck_tile::cuda_model {

// A channels-last image from which windows are cut. Axes are D,H,W; strides count elements.
struct image_view
{
    int length[3];
    std::int64_t stride[3];
    std::int64_t image_stride;
    int step[3];                  // positions between neighbouring taps; negative in backward data
    std::int64_t tap_distance[3]; // elements between neighbouring taps
};

// Names as in the host model. Rows, or the depth of backward weight, are positions: tuples
// (image, p0, p1, p2). The window of a position starts at p * origin_scale + origin_offset.
struct gemm_params
{
    const void* a;
    const void* b;
    void* result;
    void* workspace; // stream-K only

    int m, n, k;
    int k_batch;
    int batch;   // GEMMs of merged groups
    int k_grain; // elements that splits are dealt out in
    bool explicit_gemm;

    int groups, out_channels, in_channels; // channels per group
    // Per group, as they lie in memory: of the image that windows are cut from, and along the
    // contiguous axis of the other operand. Operands that are copied for engine W may have more.
    int image_channels, other_channels;
    int images_per_split, images_total;

    image_view image;
    int origin_scale[3], origin_offset[3];
    fast_divisor positions[3];
    fast_divisor channels;   // of one tap
    fast_divisor taps[3][2]; // per axis; backward data: of remainders with one tap less, too
    int filter[3];
    std::int64_t image_elements; // of the windowed tensor, all groups of one image
    std::int64_t result_image_elements;

    // Backward data only.
    int remainders[3]; // with a tap, per axis
    int full_taps[3];  // remainders below have taps[axis][0] taps, the others taps[axis][1]
    int tilde[3];
    int remainder_step[3]; // the dilation
    int position_step[3];  // the stride
    int left_pad[3];
    int result_length[3];
    int gemms;
    bool all_positions;   // every element of the result belongs to a GEMM
    bool rows_are_pixels; // row i of the only GEMM is input position i, over all images

    // Tiles of one GEMM; blocks along the three axes of the grid.
    int tiles;
    std::int64_t blocks_x, blocks_y, blocks_z;
};

namespace impl {

inline void fill_common(gemm_params& p, const host_model::conv_shape& s)
{
    p.groups       = static_cast<int>(s.G);
    p.images_total = static_cast<int>(s.N);
    p.out_channels = static_cast<int>(s.K);
    p.in_channels  = static_cast<int>(s.C);
    for(int axis = 0; axis < 3; ++axis) { p.filter[axis] = static_cast<int>(s.filter[axis]); }
}

inline void fill_image(gemm_params& p, const std::int64_t (&length)[3], std::int64_t pixel_stride)
{
    p.image.stride[2]    = pixel_stride;
    p.image.stride[1]    = pixel_stride * length[2];
    p.image.stride[0]    = p.image.stride[1] * length[1];
    p.image.image_stride = p.image.stride[0] * length[0];
    p.image_elements     = p.image.image_stride;
    for(int axis = 0; axis < 3; ++axis) { p.image.length[axis] = static_cast<int>(length[axis]); }
}

// Windows of the input, one per output position.
inline void fill_output_positions(gemm_params& p, const host_model::conv_shape& s)
{
    fill_image(p, s.input, s.G * s.C);
    for(int axis = 0; axis < 3; ++axis)
    {
        p.image.step[axis]         = static_cast<int>(s.dilation[axis]);
        p.image.tap_distance[axis] = s.dilation[axis] * p.image.stride[axis];
        p.origin_scale[axis]       = static_cast<int>(s.stride[axis]);
        p.origin_offset[axis]      = static_cast<int>(-s.left_pad[axis]);
        p.positions[axis]          = make_fast_divisor(s.output[axis]);
        p.taps[axis][0]            = make_fast_divisor(s.filter[axis]);
        p.taps[axis][1]            = p.taps[axis][0];
    }
}

inline void fill_sizes(gemm_params& p, const host_model::gemm_sizes& gemm)
{
    p.m     = static_cast<int>(gemm.m);
    p.n     = static_cast<int>(gemm.n);
    p.k     = static_cast<int>(gemm.k);
    p.batch = static_cast<int>(gemm.batch);
}

} // namespace impl

inline gemm_params make_gemm_params(const host_model::kernel_facts& facts,
                                    const host_model::forward_call& call)
{
    const host_model::conv_shape& s = call.shape;
    gemm_params p{};
    impl::fill_common(p, s);
    impl::fill_sizes(p, call.gemm);
    impl::fill_output_positions(p, s);
    p.image_channels        = p.in_channels;
    p.other_channels        = p.in_channels;
    p.a                     = call.in;
    p.b                     = call.wei;
    p.result                = call.out;
    p.k_batch               = 1;
    p.k_grain               = facts.k_per_block;
    p.images_per_split      = static_cast<int>(call.images_per_split);
    p.channels              = make_fast_divisor(s.C);
    p.result_image_elements = host_model::volume(s.output) * s.G * s.K;
    p.all_positions         = true;
    p.blocks_y              = call.gemm.batch;
    p.blocks_z              = call.image_splits;
    return p;
}

inline gemm_params make_gemm_params(const host_model::kernel_facts& facts,
                                    const host_model::backward_data_call& call)
{
    const host_model::conv_shape& s = call.shape;
    gemm_params p{};
    impl::fill_common(p, s);
    impl::fill_sizes(p, call.gemm);
    impl::fill_image(p, s.output, s.G * s.K);
    p.image_channels        = p.out_channels;
    p.other_channels        = p.in_channels;
    p.a                     = call.out;
    p.b                     = call.wei;
    p.result                = call.in;
    p.k_batch               = static_cast<int>(call.k_batch);
    p.k_grain               = facts.k_per_block;
    p.images_per_split      = static_cast<int>(call.images_per_split);
    p.channels              = make_fast_divisor(s.K);
    p.result_image_elements = host_model::volume(s.input) * s.G * s.C;
    p.rows_are_pixels       = true;
    p.gemms                 = 1;
    p.all_positions         = true;
    for(int axis = 0; axis < 3; ++axis)
    {
        const std::int64_t tilde   = call.tilde[axis];
        p.image.step[axis]         = static_cast<int>(-call.output_steps[axis]);
        p.image.tap_distance[axis] = -call.output_steps[axis] * p.image.stride[axis];
        p.origin_scale[axis]       = 1;
        p.origin_offset[axis]      = static_cast<int>(call.t_begin[axis]);
        p.positions[axis]          = make_fast_divisor(call.t_end[axis] - call.t_begin[axis]);
        const std::int64_t most    = (s.filter[axis] + tilde - 1) / tilde;
        // Remainder i has ceil((filter - i) / tilde) taps.
        p.full_taps[axis]      = static_cast<int>(s.filter[axis] - (most - 1) * tilde);
        p.taps[axis][0]        = make_fast_divisor(most);
        p.taps[axis][1]        = make_fast_divisor(most - 1);
        p.remainders[axis]     = static_cast<int>(tilde < s.filter[axis] ? tilde : s.filter[axis]);
        p.tilde[axis]          = static_cast<int>(tilde);
        p.remainder_step[axis] = static_cast<int>(s.dilation[axis]);
        p.position_step[axis]  = static_cast<int>(s.stride[axis]);
        p.left_pad[axis]       = static_cast<int>(s.left_pad[axis]);
        p.result_length[axis]  = static_cast<int>(s.input[axis]);
        p.gemms *= p.remainders[axis];
        p.rows_are_pixels = p.rows_are_pixels && tilde == 1 &&
                            call.t_begin[axis] == s.left_pad[axis] &&
                            call.t_end[axis] - call.t_begin[axis] == s.input[axis];
        // Residues without a tap, and rows after the last window, are in no GEMM.
        const std::int64_t last =
            (s.left_pad[axis] + s.input[axis] - 1 + s.stride[axis] - 1) / s.stride[axis] + 1;
        // With both stride and dilation, the same goes for some of the first positions.
        p.all_positions = p.all_positions && tilde == s.stride[axis] && tilde <= s.filter[axis] &&
                          call.t_end[axis] >= last && (tilde == 1 || s.dilation[axis] == 1);
    }
    p.blocks_y = s.G;
    p.blocks_z = call.image_splits * call.k_batch;
    return p;
}

inline gemm_params make_gemm_params(const host_model::kernel_facts& facts,
                                    const host_model::backward_weight_call& call)
{
    const host_model::conv_shape& s = call.shape;
    gemm_params p{};
    impl::fill_common(p, s);
    impl::fill_sizes(p, call.gemm);
    impl::fill_output_positions(p, s);
    p.image_channels   = p.in_channels;
    p.other_channels   = p.out_channels;
    p.a                = call.out;
    p.b                = call.in;
    p.result           = call.wei;
    p.k_batch          = static_cast<int>(call.k_batch);
    p.k_grain          = facts.explicit_gemm ? facts.k_mma : facts.k_per_block;
    p.explicit_gemm    = facts.explicit_gemm;
    p.images_per_split = static_cast<int>(s.N);
    p.channels         = make_fast_divisor(s.C * facts.groups_to_merge);
    p.all_positions    = true;
    p.blocks_y         = call.gemm.batch;
    p.blocks_z         = call.k_batch;
    return p;
}

// Says that operands have so many channels per group in memory, of which the first ones are those
// of the problem; for engine W.
inline void widen_channels(gemm_params& p, int image_channels, int other_channels)
{
    p.image_channels        = image_channels;
    p.other_channels        = other_channels;
    const auto pixel_stride = static_cast<std::int64_t>(p.groups) * image_channels;
    p.image.stride[2]       = pixel_stride;
    p.image.stride[1]       = pixel_stride * p.image.length[2];
    p.image.stride[0]       = p.image.stride[1] * p.image.length[1];
    p.image.image_stride    = p.image.stride[0] * p.image.length[0];
}

// Whether plain stores write every element of the result.
inline bool covers_result(const gemm_params& p) { return p.k_batch == 1 && p.all_positions; }

// Blocks of a grid that is laid out along x alone: the other axes of a CUDA grid are short.
inline unsigned linear_blocks(const gemm_params& p)
{
    const double blocks = static_cast<double>(p.blocks_x) * static_cast<double>(p.blocks_y) *
                          static_cast<double>(p.blocks_z);
    if(blocks > 2147483647.0)
    {
        throw std::runtime_error("the grid has more blocks than a CUDA device can be given");
    }
    return static_cast<unsigned>(p.blocks_x * p.blocks_y * p.blocks_z);
}

} // namespace ck_tile::cuda_model
