// SPDX-License-Identifier: MIT
// What the copy engine is asked for: the parameters of tensor maps, computed without a GPU.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/gemm_params.hpp"
#include "ck_tile/cuda_model/matrix_descriptor.hpp"

namespace ck_tile::cuda_model {

// Windows of a channels-last image, as positions of a bounding box. Axes: C, W, H(, D), N.
struct window_map_request
{
    int rank; // 4, or 5 with a depth
    const void* base;
    std::uint64_t size[5];
    std::uint64_t byte_stride[4]; // of the axes after C
    int lower[3], upper[3];       // corners of the box, along W,H(,D)
    unsigned channels, pixels;    // in one copy
    unsigned step[5];             // between positions

    bool operator==(const window_map_request&) const = default;
};

// A tile of a tensor, fastest axis first.
struct tile_map_request
{
    int rank;
    const void* base;
    std::uint64_t size[5];
    std::uint64_t byte_stride[4];
    unsigned box[5];
    bool swizzled = true; // in shared memory

    bool operator==(const tile_map_request&) const = default;
};

// The windows that a GEMM's rows (or the depth of backward weight) stand for. Positions of an axis
// are `count` values origin + i * scale; taps displace by 0, |step|, ..., counted from the lowest
// one, which is `reach` below the origin where steps are negative. `deep`: images have a depth.
inline window_map_request make_window_map_request(const gemm_params& p,
                                                  const void* base,
                                                  int images,
                                                  int element_bytes,
                                                  unsigned pixels,
                                                  bool deep)
{
    window_map_request r{};
    r.rank         = deep ? 5 : 4;
    r.base         = base;
    r.size[0]      = static_cast<std::uint64_t>(p.image.stride[2]);
    r.channels     = static_cast<unsigned>(128 / element_bytes); // a row in shared memory
    r.pixels       = pixels;
    r.step[0]      = 1;
    const int axes = deep ? 3 : 2;
    for(int i = 0; i < axes; ++i)
    {
        const int axis   = 2 - i;
        const int taps   = static_cast<int>(p.taps[axis][0].divisor);
        const int below  = p.image.step[axis] < 0 ? -p.image.step[axis] * (taps - 1) : 0;
        const int count  = static_cast<int>(p.positions[axis].divisor);
        const int lower  = p.origin_offset[axis] - below;
        r.size[i + 1]    = static_cast<std::uint64_t>(p.image.length[axis]);
        r.byte_stride[i] = static_cast<std::uint64_t>(p.image.stride[axis]) * element_bytes;
        r.lower[i]       = lower;
        r.upper[i]       = (count - 1) * p.origin_scale[axis] + lower - (p.image.length[axis] - 1);
        r.step[i + 1]    = static_cast<unsigned>(p.origin_scale[axis]);
    }
    r.size[axes + 1]    = static_cast<std::uint64_t>(images);
    r.byte_stride[axes] = static_cast<std::uint64_t>(p.image.image_stride) * element_bytes;
    r.step[axes + 1]    = 1;
    return r;
}

// Whether the copy engine can be asked for that.
inline bool is_possible(const window_map_request& r)
{
    const int axes    = r.rank - 2;
    const int largest = r.rank == 4 ? 127 : 15;
    for(int i = 0; i < axes; ++i)
    {
        if(r.lower[i] < -largest - 1 || r.lower[i] > largest) { return false; }
        if(r.upper[i] < -largest - 1 || r.upper[i] > largest) { return false; }
        if(r.step[i + 1] > 8) { return false; }
    }
    for(int i = 0; i < r.rank - 1; ++i)
    {
        if(r.byte_stride[i] % 16 != 0 || r.byte_stride[i] >= (std::uint64_t{1} << 40))
        {
            return false;
        }
    }
    return reinterpret_cast<std::uintptr_t>(r.base) % 16 == 0;
}

// The weights: C, taps, K, groups.
inline tile_map_request make_weight_map_request(
    const gemm_params& p, const void* base, int element_bytes, unsigned channels, unsigned rows)
{
    const auto taps = static_cast<std::uint64_t>(p.filter[0]) * p.filter[1] * p.filter[2];
    const auto c    = static_cast<std::uint64_t>(p.other_channels);
    const auto k    = static_cast<std::uint64_t>(p.out_channels);
    const auto size = static_cast<std::uint64_t>(element_bytes);
    return {4,
            base,
            {c, taps, k, static_cast<std::uint64_t>(p.groups)},
            {c * size, c * taps * size, c * taps * k * size},
            {channels, 1, rows, 1}};
}

// A matrix of pixels times the channels of all groups, in boxes of 128 bytes of channels.
inline tile_map_request make_pixel_map_request(
    const void* base, std::int64_t channels, std::int64_t pixels, int element_bytes, unsigned rows)
{
    return {2,
            base,
            {static_cast<std::uint64_t>(channels), static_cast<std::uint64_t>(pixels)},
            {static_cast<std::uint64_t>(channels * element_bytes)},
            {static_cast<unsigned>(hopper_row_bytes / element_bytes), rows}};
}

// A part of an image that is copied at once.
struct image_box
{ int channels, columns, rows; };

// Channels-last images of that height and width, of elements of 16 bits, in boxes.
inline tile_map_request make_box_map_request(const void* base,
                                             int channels,
                                             const int (&size)[2],
                                             int images,
                                             const image_box& box,
                                             bool swizzled)
{
    const auto of_channels    = static_cast<std::uint64_t>(channels);
    const auto height         = static_cast<std::uint64_t>(size[0]);
    const auto width          = static_cast<std::uint64_t>(size[1]);
    const std::uint64_t pixel = of_channels * 2;
    return {4,
            base,
            {of_channels, width, height, static_cast<std::uint64_t>(images)},
            {pixel, width * pixel, height * width * pixel},
            {static_cast<unsigned>(box.channels),
             static_cast<unsigned>(box.columns),
             static_cast<unsigned>(box.rows),
             1},
            swizzled};
}

// Whether every window is one pixel, and the positions are all pixels in order: such windows are
// the rows of a matrix, which is copied faster than windows are.
inline bool has_pixel_windows(const gemm_params& p)
{
    for(int axis = 0; axis < 3; ++axis)
    {
        if(p.taps[axis][0].divisor != 1 || p.origin_scale[axis] != 1 ||
           p.origin_offset[axis] != 0 ||
           static_cast<int>(p.positions[axis].divisor) != p.image.length[axis])
        {
            return false;
        }
    }
    return p.filter[0] * p.filter[1] * p.filter[2] == 1;
}

inline bool is_possible(const tile_map_request& r)
{
    for(int i = 0; i < r.rank - 1; ++i)
    {
        if(r.byte_stride[i] % 16 != 0 || r.byte_stride[i] >= (std::uint64_t{1} << 40))
        {
            return false;
        }
    }
    return reinterpret_cast<std::uintptr_t>(r.base) % 16 == 0;
}

} // namespace ck_tile::cuda_model
