// SPDX-License-Identifier: MIT
// Weight gradients of groups with few channels: which problems, and how they are cut into patches.
// Usable without a GPU.
//
// A patch is some rows of an image with all that a filter's row reaches, and the rows of gradients
// whose windows meet them. Both have the same number of positions to a row; gradients are zero
// after the end of theirs. So every tap of the filter is a displacement between the two. Infinite
// elements of an image meet some of these zeros, so that more sums than theirs may be no numbers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ck_tile/cuda_model/fast_divisor.hpp"
#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/data_type.hpp"

namespace ck_tile::cuda_model {

inline constexpr int group_filter         = 3;   // taps along both axes
inline constexpr int group_chunk          = 64;  // channels of a block
inline constexpr int group_square         = 16;  // channels that are multiplied with one another
inline constexpr int group_position_bytes = 128; // of a chunk
inline constexpr int group_step           = 16;  // positions of one product
inline constexpr int group_stages         = 2;   // patches in shared memory
inline constexpr int group_splits         = 3;   // warps that share the steps of a patch
inline constexpr int group_squares        = group_chunk / group_square;
inline constexpr int group_threads        = group_squares * group_splits * 32;

// Sums of a thread, and bytes through which warps add theirs up.
inline constexpr int group_sums        = group_filter * group_filter * 2 * 4;
inline constexpr int group_adder_bytes = (group_splits - 1) * group_squares * 32 * group_sums * 4;

// Images are N,H,W,G,C in memory, weights G,K,Y,X,C.
struct group_weight_params
{
    const void* in;
    const void* out; // gradients
    float* partial;  // part, then as the weights
    void* result;    // weights
    int channels;    // of all groups
    int group;       // of one
    int input[2], output[2];
    int dilation[2];
    int pad[2];
    int rows;                 // of the image that a patch has
    fast_divisor width;       // positions of a row
    int steps;                // of a patch
    fast_divisor image_parts; // patches of one image
    int patches;              // of all images
    int part_patches;         // of those, what a block adds
    int parts;

    // What the outermost tap displaces by.
    constexpr int reach_w() const { return (group_filter - 1) * dilation[1]; }
    constexpr int reach_h() const { return (group_filter - 1) * dilation[0]; }
    // Positions in shared memory, images and then gradients; those after the patch are zero.
    constexpr int image_positions() const { return (steps * group_step + reach_w() + 7) / 8 * 8; }
    constexpr int gradient_positions() const
    { return (steps * group_step + reach_h() * static_cast<int>(width.divisor) + 7) / 8 * 8; }
    constexpr int stage_bytes() const
    { return (image_positions() + gradient_positions()) * group_position_bytes; }
    // Stages are aligned to 1024 bytes, and a barrier of each follows them.
    constexpr int shared_bytes() const
    {
        const int staged = group_stages * (stage_bytes() + 8);
        return std::max(staged, group_adder_bytes) + 1024;
    }

    // Rows of gradients whose windows meet a patch.
    constexpr int gradient_rows() const { return rows + reach_h(); }

    constexpr int chunks() const { return (channels + group_chunk - 1) / group_chunk; }
    constexpr unsigned blocks() const
    { return static_cast<unsigned>(parts) * static_cast<unsigned>(chunks()); }
    constexpr int images() const { return patches / static_cast<int>(image_parts.divisor); }
    constexpr std::int64_t weights() const
    { return std::int64_t{channels} * group * group_filter * group_filter; }
};

// Instances with larger tiles compute such problems as all others.
constexpr bool is_group_weight_tile(int m, int n) { return m <= group_chunk && n <= group_chunk; }

constexpr bool has_group_weight_kernel(host_model::data_type operands, host_model::data_type result)
{
    using host_model::data_type;
    return (operands == data_type::bf16 || operands == data_type::fp16) &&
           (result == operands || result == data_type::fp32);
}

// Whether the kernel can compute that, as far as shared memory holds its patches.
constexpr bool is_group_weight(const host_model::conv_shape& s)
{
    const bool flat = s.filter[0] == 1 && s.input[0] == 1 && s.output[0] == 1;
    bool dense      = true;
    for(int axis = 1; axis < 3; ++axis)
    {
        dense = dense && s.filter[axis] == group_filter && s.stride[axis] == 1;
    }
    return flat && dense && s.C == s.K && s.C > 0 && group_square % s.C == 0 &&
           s.G * s.C % 8 == 0 && s.N * s.input[1] <= 1 << 30 && s.G * s.C <= 1 << 24;
}

// `parts`: of the sum, at most; `most_bytes`: of shared memory that a block can have. No rows if
// that is too little.
inline group_weight_params
make_group_weight_params(const host_model::conv_shape& s, int parts, int most_bytes)
{
    group_weight_params p{};
    p.channels = static_cast<int>(s.G * s.C);
    p.group    = static_cast<int>(s.C);
    for(int axis = 0; axis < 2; ++axis)
    {
        p.input[axis]    = static_cast<int>(s.input[axis + 1]);
        p.output[axis]   = static_cast<int>(s.output[axis + 1]);
        p.dilation[axis] = static_cast<int>(s.dilation[axis + 1]);
        p.pad[axis]      = static_cast<int>(s.left_pad[axis + 1]);
    }
    const int width = p.output[1] + p.reach_w();
    p.width         = make_fast_divisor(width);

    // The fewest positions that are copied.
    std::int64_t least = 0;
    int best           = 0;
    for(int rows = 1; rows <= p.input[0]; ++rows)
    {
        p.steps = (rows * width + group_step - 1) / group_step;
        if(p.shared_bytes() > most_bytes) { break; }
        const std::int64_t patches = (p.input[0] + rows - 1) / rows;
        const std::int64_t copied  = patches * (p.image_positions() + p.gradient_positions());
        if(best == 0 || copied < least)
        {
            best  = rows;
            least = copied;
        }
    }
    p.rows = best;
    if(best == 0) { return p; }
    const int image_parts = (p.input[0] + best - 1) / best;
    p.steps               = (best * width + group_step - 1) / group_step;
    p.image_parts         = make_fast_divisor(image_parts);
    p.patches             = static_cast<int>(s.N) * image_parts;
    p.part_patches        = std::max(1, (p.patches + parts - 1) / std::max(1, parts));
    p.parts               = std::max(1, (p.patches + p.part_patches - 1) / p.part_patches);
    return p;
}

} // namespace ck_tile::cuda_model
