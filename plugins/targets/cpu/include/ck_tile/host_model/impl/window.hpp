// SPDX-License-Identifier: MIT
// The moving window of a convolution as a GEMM operand: which tensor elements a GEMM row (or, for
// backward weight, a GEMM k) sees under the filter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/impl/tile_gemm.hpp"

namespace ck_tile::host_model::impl {

// A channels-last tensor N[D][H]W(G,C) and the taps of a window over it. Tap (z,y,x) lies step *
// tap away from the window's origin; steps can be negative.
struct window
{
    const void* data;
    std::int64_t lengths[3]; // D,H,W
    std::int64_t groups;
    std::int64_t channels; // per group
    std::int64_t taps[3];
    std::int64_t steps[3];
};

// Origin of one window: its position, and the offset of that position's first channel from the
// start of the tensor (outside the tensor if the position is outside the image).
struct window_origin
{
    std::int64_t offset;
    std::int32_t position[3];
};

inline window_origin
make_origin(const window& w, std::int64_t image, const std::int64_t (&at)[3], std::int64_t group)
{
    const std::int64_t pixel =
        ((image * w.lengths[0] + at[0]) * w.lengths[1] + at[1]) * w.lengths[2] + at[2];
    return {(pixel * w.groups + group) * w.channels,
            {static_cast<std::int32_t>(at[0]),
             static_cast<std::int32_t>(at[1]),
             static_cast<std::int32_t>(at[2])}};
}

// Windows of output positions (n,do,ho,wo,gm), counted from first_row, over the input.
inline void decompose_rows(const window& w,
                           const conv_shape& s,
                           std::int64_t merged,
                           std::int64_t first_row,
                           std::int64_t first_group,
                           std::int64_t first_image,
                           std::vector<window_origin>& rows)
{
    for(std::size_t i = 0; i < rows.size(); ++i)
    {
        std::int64_t rest        = first_row + static_cast<std::int64_t>(i);
        const std::int64_t group = first_group + rest % merged;
        rest /= merged;
        std::int64_t at[3];
        for(int axis = 2; axis >= 0; --axis)
        {
            at[axis] = rest % s.output[axis] * s.stride[axis] - s.left_pad[axis];
            rest /= s.output[axis];
        }
        rows[i] = make_origin(w, first_image + rest, at, group);
    }
}

// Index range [begin, end) of one run: elements that are contiguous in memory under a window. A run
// is (c) at one tap, or (x,c) when neighbouring taps are neighbours in memory.
class window_runs
{
public:
    // `width` channels of a tap are read, normally those of one group, with merged groups of
    // several.
    window_runs(const window& w, std::int64_t width) : w_(w), width_(width)
    {
        const bool fused = width == w.groups * w.channels && w.steps[2] == 1;
        x_taps_          = fused ? w.taps[2] : 1;
        x_runs_          = fused ? 1 : w.taps[2];
        length_          = x_taps_ * width;
    }

    std::int64_t length() const { return length_; }

    // Selects the run that contains window element `element` (taps x width, width fastest).
    void select(std::int64_t element)
    {
        const std::int64_t run = element / length_;
        dx_                    = run % x_runs_ * w_.steps[2];
        dy_                    = run / x_runs_ % w_.taps[1] * w_.steps[1];
        dz_                    = run / x_runs_ / w_.taps[1] * w_.steps[0];
        tap_ = ((dz_ * w_.lengths[1] + dy_) * w_.lengths[2] + dx_) * w_.groups * w_.channels;
    }

    // Elements [begin, end) of the selected run under one window; those outside the image are
    // zeros.
    template <typename T>
    void widen(const window_origin& origin,
               std::int64_t begin,
               std::int64_t end,
               float* destination) const
    {
        const auto outside = [](std::int64_t position, std::int64_t length) {
            return static_cast<std::uint64_t>(position) >= static_cast<std::uint64_t>(length);
        };
        const std::int64_t x = origin.position[2] + dx_;
        std::int64_t first   = begin;
        std::int64_t last    = end;
        if(x < 0) { first = std::min(end, std::max(begin, -x * width_)); }
        if(x + x_taps_ > w_.lengths[2])
        {
            last = std::max(begin, std::min(end, (w_.lengths[2] - x) * width_));
        }
        if(first >= last || outside(origin.position[0] + dz_, w_.lengths[0]) ||
           outside(origin.position[1] + dy_, w_.lengths[1]))
        {
            zero_run(destination, end - begin);
            return;
        }
        const T* source = static_cast<const T*>(w_.data) + (origin.offset + tap_ + first);
        if(first > begin) { zero_run(destination, first - begin); }
        widen_run(source, destination + (first - begin), last - first);
        if(last < end) { zero_run(destination + (last - begin), end - last); }
    }

private:
    const window& w_;
    std::int64_t width_;
    std::int64_t x_taps_, x_runs_, length_;
    std::int64_t dx_ = 0, dy_ = 0, dz_ = 0, tap_ = 0;
};

// A(row, k) for k in [k0, k0 + depth), k = (taps, channels).
template <typename T>
inline void pack_a_windows(tile_gemm& gemm,
                           const window& w,
                           const std::vector<window_origin>& rows,
                           std::int64_t k0,
                           std::int64_t depth)
{
    window_runs runs(w, w.channels);
    for(std::int64_t done = 0; done < depth;)
    {
        const std::int64_t begin = (k0 + done) % runs.length();
        const std::int64_t end   = std::min(runs.length(), begin + depth - done);
        float* destination       = gemm.a_row(0) + done;
        runs.select(k0 + done);
        for(const window_origin& row : rows)
        {
            runs.widen<T>(row, begin, end, destination);
            destination += gemm.a_stride();
        }
        done += end - begin;
    }
}

// B(k, column) for columns [first_column, first_column + columns), column = (taps, width) where
// width is the channels of the merged groups; one window per k.
template <typename T>
inline void pack_b_windows(tile_gemm& gemm,
                           const window& w,
                           std::int64_t width,
                           const std::vector<window_origin>& windows,
                           std::int64_t first_column,
                           std::int64_t columns,
                           std::vector<float>& row)
{
    const auto depth = static_cast<std::int64_t>(windows.size());
    window_runs runs(w, width);
    row.assign(static_cast<std::size_t>(depth * gemm.columns()), 0.0f);
    for(std::int64_t done = 0; done < columns;)
    {
        const std::int64_t begin = (first_column + done) % runs.length();
        const std::int64_t end   = std::min(runs.length(), begin + columns - done);
        float* destination       = row.data() + done;
        runs.select(first_column + done);
        for(const window_origin& origin : windows)
        {
            runs.widen<T>(origin, begin, end, destination);
            destination += gemm.columns();
        }
        done += end - begin;
    }
    for(std::int64_t column = 0; column < gemm.columns(); column += vector_width)
    {
        float* destination        = gemm.b_column(column, depth);
        const std::int64_t stride = gemm.b_stride(column);
        const float* source       = row.data() + column;
        for(std::int64_t k = 0; k < depth; ++k)
        {
            store_bytes(destination + k * stride, load_bytes<vfloat>(source + k * gemm.columns()));
        }
    }
}

} // namespace ck_tile::host_model::impl
