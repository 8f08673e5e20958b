// SPDX-License-Identifier: MIT
// The moving window of a convolution as a GEMM operand: which tensor elements a GEMM row (or, for
// backward weight, a GEMM k) sees under the filter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/impl/pack.hpp"

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
    std::int64_t rest  = first_row / merged;
    std::int64_t group = first_row % merged;
    std::int64_t out[3];
    for(int axis = 2; axis >= 0; --axis)
    {
        out[axis] = rest % s.output[axis];
        rest /= s.output[axis];
    }
    std::int64_t image = first_image + rest;
    for(window_origin& row : rows)
    {
        const std::int64_t at[3] = {out[0] * s.stride[0] - s.left_pad[0],
                                    out[1] * s.stride[1] - s.left_pad[1],
                                    out[2] * s.stride[2] - s.left_pad[2]};
        row                      = make_origin(w, image, at, first_group + group);
        if(++group < merged) { continue; }
        group    = 0;
        int axis = 2;
        for(; axis >= 0 && ++out[axis] == s.output[axis]; --axis) { out[axis] = 0; }
        if(axis < 0) { ++image; }
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

    // Where a run's first tap lies, from the window's origin.
    struct place
    { std::int64_t x, y, z, offset; };

    // The run that contains window element `element` (taps x width, width fastest).
    place find(std::int64_t element) const
    {
        const std::int64_t run = element / length_;
        const std::int64_t x   = run % x_runs_ * w_.steps[2];
        const std::int64_t y   = run / x_runs_ % w_.taps[1] * w_.steps[1];
        const std::int64_t z   = run / x_runs_ / w_.taps[1] * w_.steps[0];
        return {x, y, z, ((z * w_.lengths[1] + y) * w_.lengths[2] + x) * w_.groups * w_.channels};
    }

    struct range
    { std::int64_t first, last; };

    // Which of the elements [begin, end) of a run lie in the image, under one window; first >= last
    // if none.
    range inside(const place& run,
                 const window_origin& origin,
                 std::int64_t begin,
                 std::int64_t end) const
    {
        const auto outside = [](std::int64_t position, std::int64_t length) {
            return static_cast<std::uint64_t>(position) >= static_cast<std::uint64_t>(length);
        };
        const std::int64_t x = origin.position[2] + run.x;
        if(outside(origin.position[0] + run.z, w_.lengths[0]) ||
           outside(origin.position[1] + run.y, w_.lengths[1]))
        {
            return {begin, begin};
        }
        range result{begin, end};
        if(x < 0) { result.first = std::min(end, std::max(begin, -x * width_)); }
        if(x + x_taps_ > w_.lengths[2])
        {
            result.last = std::max(begin, std::min(end, (w_.lengths[2] - x) * width_));
        }
        return result;
    }

    // Where an element of a run lies that is inside the image.
    template <typename T>
    const T* element(const place& run, const window_origin& origin, std::int64_t index) const
    { return static_cast<const T*>(w_.data) + (origin.offset + run.offset + index); }

    // Elements [begin, end) of a run under one window; those outside the image are zeros.
    template <typename T, typename Element>
    void copy(const place& run,
              const window_origin& origin,
              std::int64_t begin,
              std::int64_t end,
              Element* destination) const
    {
        const auto [first, last] = inside(run, origin, begin, end);
        if(first >= last)
        {
            zero_run(destination, end - begin);
            return;
        }
        if(first > begin) { zero_run(destination, first - begin); }
        place_run(element<T>(run, origin, first), destination + (first - begin), last - first);
        if(last < end) { zero_run(destination + (last - begin), end - last); }
    }

private:
    const window& w_;
    std::int64_t width_;
    std::int64_t x_taps_, x_runs_, length_;
};

// A(row, k) for the k of a step that begins at k0, k = (taps, channels).
template <typename Element, typename T>
inline void pack_a_windows(tile_gemm& gemm,
                           const window& w,
                           const std::vector<window_origin>& rows,
                           std::int64_t k0)
{
    const window_runs runs(w, w.channels);
    const std::int64_t stride = gemm.a_stride() * elements_per_word<Element>;
    for(std::int64_t done = 0; done < gemm.depth();)
    {
        const std::int64_t begin = (k0 + done) % runs.length();
        const std::int64_t end   = std::min(runs.length(), begin + gemm.depth() - done);
        Element* destination     = gemm.a_row<Element>(0) + done;
        const auto run           = runs.find(k0 + done);
        for(const window_origin& row : rows)
        {
            runs.copy<T>(run, row, begin, end, destination);
            destination += stride;
        }
        done += end - begin;
    }
    gemm.end_rows();
}

// Columns of B that lie in one run: elements [begin, end) of it.
struct run_piece
{
    window_runs::place run;
    std::int64_t begin, end;
};

// Rows of B as lines of elements, one window for each k.
template <typename T>
struct window_lines
{
    std::vector<run_piece> pieces;
    std::vector<T> gathered; // rows that do not lie in memory as one piece
    std::vector<T> zeros;

    static window_lines& of_thread()
    {
        static thread_local window_lines lines;
        return lines;
    }

    // Returns whether each piece but the last fills whole vectors.
    bool cut(const window_runs& runs, std::int64_t first_column, std::int64_t columns)
    {
        pieces.clear();
        bool whole = true;
        for(std::int64_t done = 0; done < columns;)
        {
            const std::int64_t begin = (first_column + done) % runs.length();
            const std::int64_t end   = std::min(runs.length(), begin + columns - done);
            pieces.push_back({runs.find(first_column + done), begin, end});
            done += end - begin;
            whole = whole && (done == columns || (end - begin) % vector_width == 0);
        }
        return whole;
    }
};

// B(k, column) for columns [first_column, first_column + columns), column = (taps, width) where
// width is the channels of the merged groups; one window per k.
template <typename Element, typename T>
inline void pack_b_windows(tile_gemm& gemm,
                           const window& w,
                           std::int64_t width,
                           const std::vector<window_origin>& windows,
                           std::int64_t first_column,
                           std::int64_t columns)
{
    const window_runs runs(w, width);
    k_lines<T>& lines      = k_lines<T>::of_thread();
    window_lines<T>& parts = window_lines<T>::of_thread();
    const bool whole       = parts.cut(runs, first_column, columns);
    const auto longest     = static_cast<std::size_t>(columns);
    parts.gathered.resize(std::max(parts.gathered.size(), windows.size() * longest));
    if(parts.zeros.size() < longest) { parts.zeros.assign(longest, T{}); }
    if(!whole)
    {
        lines.starts.clear();
        T* gathered = parts.gathered.data();
        for(const window_origin& origin : windows)
        {
            lines.starts.push_back(gathered);
            for(const run_piece& piece : parts.pieces)
            {
                runs.copy<T>(piece.run, origin, piece.begin, piece.end, gathered);
                gathered += piece.end - piece.begin;
            }
        }
        pack_b_n_contiguous<Element, T>(gemm, columns, lines);
        return;
    }
    std::int64_t column = 0;
    for(const run_piece& piece : parts.pieces)
    {
        lines.starts.clear();
        T* gathered               = parts.gathered.data();
        const std::int64_t length = piece.end - piece.begin;
        for(const window_origin& origin : windows)
        {
            const auto [first, last] = runs.inside(piece.run, origin, piece.begin, piece.end);
            if(first == piece.begin && last == piece.end)
            {
                lines.starts.push_back(runs.element<T>(piece.run, origin, first));
            }
            else if(first >= last) { lines.starts.push_back(parts.zeros.data()); }
            else
            {
                runs.copy<T>(piece.run, origin, piece.begin, piece.end, gathered);
                lines.starts.push_back(gathered);
                gathered += length;
            }
        }
        pack_b_columns<Element, T>(gemm, column, length, lines);
        column += length;
    }
    gemm.end_columns();
}

} // namespace ck_tile::host_model::impl
