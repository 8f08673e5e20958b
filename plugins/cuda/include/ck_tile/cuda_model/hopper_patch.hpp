// SPDX-License-Identifier: MIT
// Windows of stride 1 without copies of their overlaps: a patch of the image is copied once, and
// every tap of the filter multiplies a part of it that starts some rows further. Usable without a
// GPU.
//
// A tile is some rows of an output image, as wide as the patch: a row of the GEMM is a position of
// the patch, and those after the end of an output row are computed for nothing.
#pragma once

#include "ck_tile/cuda_model/hopper_walk.hpp"
#include "ck_tile/cuda_model/tensor_map_request.hpp"

namespace ck_tile::cuda_model {

struct hopper_patch
{
    int rows;            // of the output that a tile has; 0: patches are of no use
    fast_divisor width;  // positions of a patch's row
    fast_divisor blocks; // tiles along H
    fast_divisor images;
    int height;  // rows of a patch
    int step[3]; // positions between neighbouring taps
    int taps[3];
    int outputs[3];
    int lowest[3]; // the first position that the window of output 0 reaches

    constexpr int bytes() const
    { return height * static_cast<int>(width.divisor) * hopper_row_bytes; }
    // Tiles of all images.
    std::int64_t tiles() const
    {
        return static_cast<std::int64_t>(blocks.divisor) * outputs[0] *
               static_cast<std::int64_t>(images.divisor);
    }
};

// For tiles of m rows and patches of at most so many positions. `mirrored`: backward data, whose
// taps count down.
inline hopper_patch plan_patch(const gemm_params& g, int m, int most_positions, bool mirrored)
{
    hopper_patch p{};
    for(int axis = 0; axis < 3; ++axis)
    {
        const int step  = g.image.step[axis] < 0 ? -g.image.step[axis] : g.image.step[axis];
        p.step[axis]    = step;
        p.taps[axis]    = static_cast<int>(g.taps[axis][0].divisor);
        p.outputs[axis] = static_cast<int>(g.positions[axis].divisor);
        p.lowest[axis]  = g.origin_offset[axis] - (mirrored ? step * (p.taps[axis] - 1) : 0);
        if(g.origin_scale[axis] != 1) { return p; }
    }
    // A few taps do not pay for the positions in between.
    if(p.taps[1] * p.taps[2] < 4 || g.k_batch > 1 || g.blocks_z > 1 || (mirrored && g.gemms != 1))
    {
        return p;
    }
    const int width   = p.outputs[2] + p.step[2] * (p.taps[2] - 1);
    const int reach   = p.step[1] * (p.taps[1] - 1);
    const int fitting = m < p.outputs[2] ? 0 : (m - p.outputs[2]) / width + 1;
    int rows          = fitting < p.outputs[1] ? fitting : p.outputs[1];
    while(rows > 0 && (rows + reach) * width > most_positions) { --rows; }
    if(rows == 0 || width > 256 || rows + reach > 256) { return p; }
    const int blocks = (p.outputs[1] + rows - 1) / rows;
    // Three quarters of the products must count.
    if(4ll * p.outputs[1] * p.outputs[2] < 3ll * blocks * m) { return p; }
    p.width  = make_fast_divisor(width);
    p.blocks = make_fast_divisor(blocks);
    p.images = make_fast_divisor(g.images_total);
    p.height = rows + reach;
    p.rows   = rows;
    return p;
}

// The image as a tensor of channels, W, H(, D) and images, in boxes of one patch.
inline tile_map_request make_patch_map_request(
    const gemm_params& g, const hopper_patch& p, const void* base, int element_bytes, bool deep)
{
    const int axes = deep ? 3 : 2;
    tile_map_request r{};
    r.rank    = axes + 2;
    r.base    = base;
    r.size[0] = static_cast<std::uint64_t>(g.image.stride[2]);
    r.box[0]  = 64;
    for(int i = 0; i < axes; ++i)
    {
        const int axis   = 2 - i;
        r.size[i + 1]    = static_cast<std::uint64_t>(g.image.length[axis]);
        r.byte_stride[i] = static_cast<std::uint64_t>(g.image.stride[axis]) * element_bytes;
        r.box[i + 1]     = 1;
    }
    r.box[1]            = p.width.divisor;
    r.box[2]            = static_cast<unsigned>(p.height);
    r.size[axes + 1]    = static_cast<std::uint64_t>(g.images_total);
    r.byte_stride[axes] = static_cast<std::uint64_t>(g.image.image_stride) * element_bytes;
    r.box[axes + 1]     = 1;
    return r;
}

// One tile of the walk.
struct hopper_patch_place
{
    tile_place at; // columns and group
    int image, d, h;
};

template <typename Config>
CK_TILE_CUDA_BOTH inline hopper_patch_place
find_patch_place(const hopper_work& w, const hopper_patch& p, int tile)
{
    hopper_patch_place place{};
    const int without_n    = w.n_tiles.quotient(tile);
    const int block_number = p.blocks.quotient(without_n);
    const int plane        = w.g.positions[0].quotient(block_number);
    const int group        = p.images.quotient(plane);
    place.at.first_column  = w.n_tiles.remainder(tile, without_n) * Config::n;
    place.at.first_group   = group;
    place.h                = p.blocks.remainder(without_n, block_number) * p.rows;
    place.d                = w.g.positions[0].remainder(block_number, plane);
    place.image            = p.images.remainder(plane, group);
    return place;
}

// The rows of the GEMM that a tile's rows stand for.
struct patch_rows
{
    fast_divisor width;
    int first;  // of the tile
    int rows;   // of the output
    int length; // of an output row

    // Negative if there is none.
    CK_TILE_CUDA_BOTH int operator()(int tile_row) const
    {
        const int row    = width.quotient(tile_row);
        const int column = width.remainder(tile_row, row);
        return row < rows && column < length ? first + row * length + column : -1;
    }
};

CK_TILE_CUDA_BOTH inline patch_rows rows_of(const hopper_patch& p, const hopper_patch_place& place)
{
    const int left  = p.outputs[1] - place.h;
    const int first = ((place.image * p.outputs[0] + place.d) * p.outputs[1] + place.h);
    return {p.width, first * p.outputs[2], left < p.rows ? left : p.rows, p.outputs[2]};
}

} // namespace ck_tile::cuda_model
