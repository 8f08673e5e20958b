// SPDX-License-Identifier: MIT
// The outputs of one block of a depthwise kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ck_tile/host_model/depthwise.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/impl/rows.hpp"
#include "ck_tile/host_model/impl/staged_tile.hpp"

namespace ck_tile::host_model::impl {

// Outputs of one tile: `rows` times `columns`, `pitch` elements from row to row.
struct tile_sums
{
    float* data;
    std::int64_t pitch, rows, columns;
};

// Whole vectors, or the start of one if the tile has less columns.
template <bool Whole>
[[gnu::always_inline]] inline void store_sum(float* at, vfloat sum, std::int64_t columns)
{
    if constexpr(Whole) { store_bytes(at, sum); }
    else
    {
        std::memcpy(at, &sum, static_cast<std::size_t>(columns) * sizeof(float));
    }
}

// Calls function(start) for runs of `size` that cover [0, count); the last one overlaps the one
// before. A single run if count is less than that.
template <typename Function>
[[gnu::always_inline]] inline void
for_each_run(std::int64_t count, std::int64_t size, const Function& function)
{
    const std::int64_t last = std::max<std::int64_t>(count - size, 0);
    for(std::int64_t start = 0; start < last; start += size) { function(start); }
    function(last);
}

// Rows of outputs that are summed up side by side: each input vector is loaded once for all of
// them.
inline constexpr int rows_at_once = 4;

// A vector of outputs in each of `Rows` rows: taps in rising order, one multiply-add each.
// `window` is where the first tap meets the input, `phase` the distance between columns of one
// remainder and the next.
template <int Rows, int Filter, int Stride, bool Whole>
[[gnu::always_inline]] inline void depthwise_rows(const float* window,
                                                  std::int64_t pitch,
                                                  std::int64_t phase,
                                                  const float* weights,
                                                  const tile_sums& sums,
                                                  float* out)
{
    vfloat sum[Rows]{};
#pragma GCC unroll 16
    for(int line = 0; line < (Rows - 1) * Stride + Filter; ++line, window += pitch)
    {
#pragma GCC unroll 5
        for(int x = 0; x < Filter; ++x)
        {
            const auto met = load_bytes<vfloat>(window + x % Stride * phase + x / Stride);
#pragma GCC unroll 4
            for(int i = 0; i < Rows; ++i)
            {
                const int y = line - i * Stride;
                if(y >= 0 && y < Filter) { sum[i] += met * weights[y * Filter + x]; }
            }
        }
    }
#pragma GCC unroll 4
    for(int i = 0; i < Rows; ++i) { store_sum<Whole>(out + i * sums.pitch, sum[i], sums.columns); }
}

template <int Filter, int Stride, bool Whole>
[[gnu::always_inline]] inline void
depthwise_columns(const staged_tile& staged, const float* weights, const tile_sums& sums)
{
    // A copy, since the stores below might change what is pointed to.
    float taps[Filter * Filter];
    std::memcpy(taps, weights, sizeof(taps));
    const std::int64_t pitch = staged.pitch(), phase = staged.phase();
    const float* const data = staged.data();
    for_each_run(sums.columns, vector_width, [=](std::int64_t column) {
        const auto compute = [=]<int Rows>(std::integral_constant<int, Rows>, std::int64_t row) {
            depthwise_rows<Rows, Filter, Stride, Whole>(data + row * Stride * pitch + column,
                                                        pitch,
                                                        phase,
                                                        taps,
                                                        sums,
                                                        sums.data + row * sums.pitch + column);
        };
        if(sums.rows < rows_at_once)
        {
            for(std::int64_t row = 0; row < sums.rows; ++row)
            {
                compute(std::integral_constant<int, 1>{}, row);
            }
            return;
        }
        for_each_run(sums.rows, rows_at_once, [=](std::int64_t row) {
            compute(std::integral_constant<int, rows_at_once>{}, row);
        });
    });
}

template <int Filter, int Stride>
inline void depthwise_tile(const depthwise_facts&,
                           const staged_tile& staged,
                           const float* weights,
                           const tile_sums& sums)
{
    if(sums.columns >= vector_width)
    {
        depthwise_columns<Filter, Stride, true>(staged, weights, sums);
    }
    else
    {
        depthwise_columns<Filter, Stride, false>(staged, weights, sums);
    }
}

// Any filter and stride.
inline void depthwise_tile_general(const depthwise_facts& f,
                                   const staged_tile& staged,
                                   const float* weights,
                                   const tile_sums& sums)
{
    const std::int64_t pitch = staged.pitch(), phase = staged.phase();
    for_each_run(sums.columns, vector_width, [&](std::int64_t column) {
        for(std::int64_t row = 0; row < sums.rows; ++row)
        {
            const float* const window = staged.data() + row * f.stride[0] * pitch + column;
            vfloat sum{};
            for(int y = 0; y < f.filter[0]; ++y)
            {
                for(int x = 0; x < f.filter[1]; ++x)
                {
                    const auto met = load_bytes<vfloat>(window + y * pitch +
                                                        x % f.stride[1] * phase + x / f.stride[1]);
                    sum += met * weights[y * f.filter[1] + x];
                }
            }
            float* const out = sums.data + row * sums.pitch + column;
            if(sums.columns >= vector_width) { store_sum<true>(out, sum, sums.columns); }
            else
            {
                store_sum<false>(out, sum, sums.columns);
            }
        }
    });
}

using depthwise_tile_function = void (*)(const depthwise_facts&,
                                         const staged_tile&,
                                         const float*,
                                         const tile_sums&);

inline depthwise_tile_function choose_depthwise_tile(const depthwise_facts& f)
{
    const auto is = [&f](int filter, int stride) {
        return f.filter[0] == filter && f.filter[1] == filter && f.stride[0] == stride &&
               f.stride[1] == stride;
    };
    if(is(3, 1)) { return &depthwise_tile<3, 1>; }
    if(is(3, 2)) { return &depthwise_tile<3, 2>; }
    if(is(5, 1)) { return &depthwise_tile<5, 1>; }
    if(is(5, 2)) { return &depthwise_tile<5, 2>; }
    return &depthwise_tile_general;
}

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API void run_depthwise_block(const depthwise_facts& f,
                                                const depthwise_call& call,
                                                const block_position& block)
{
    using namespace impl;
    const conv_shape& s       = call.shape;
    const std::int64_t group  = block.x;
    const std::int64_t taps   = std::int64_t{f.filter[0]} * f.filter[1];
    const std::int64_t height = s.output[1], width = s.output[2];

    // Sums of all tiles side by side: their rows make up one run of the output.
    static thread_local std::vector<float> weights, band;
    static thread_local staged_tile staged;
    staged.shape(f);
    weights.resize(static_cast<std::size_t>(taps));
    band.resize(static_cast<std::size_t>(f.tile[0] * width));
    with_element_type(f.wei_type, [&]<typename T>(T*) {
        widen_run(static_cast<const T*>(call.wei) + group * taps, weights.data(), taps);
    });

    // Outputs that no cache holds need not be read into one before they are written.
    constexpr std::int64_t cached_elements = std::int64_t{4} << 20;
    const bool streams                     = s.N * s.G * height * width > cached_elements;

    const depthwise_tile_function compute_tile = choose_depthwise_tile(f);

    const std::int64_t last = std::min<std::int64_t>(s.N, (std::int64_t{block.y} + 1) * f.batch);
    for(std::int64_t image = std::int64_t{block.y} * f.batch; image < last; ++image)
    {
        const std::int64_t plane = image * s.G + group;
        for(std::int64_t row = 0; row < height; row += f.tile[0])
        {
            const std::int64_t rows  = std::min<std::int64_t>(f.tile[0], height - row);
            const std::int64_t first = row * f.stride[0] - f.pad[0];
            const std::int64_t met   = (rows - 1) * f.stride[0] + f.filter[0];
            with_element_type(f.in_type, [&]<typename T>(T*) {
                const std::int64_t size = s.input[1] * s.input[2];
                const T* const input    = static_cast<const T*>(call.in) + plane * size;
                // What is fetched ahead: the next row of tiles, or with one image per block
                // the next plane, which most often is this thread's next block.
                const std::int64_t ahead = std::int64_t{f.tile[0]} * f.stride[0] * s.input[2];
                const T* const input_end =
                    static_cast<const T*>(call.in) + (f.batch == 1 ? s.N * s.G : plane + 1) * size;
                for(std::int64_t column = 0; column < width; column += f.tile[1])
                {
                    const std::int64_t columns = std::min<std::int64_t>(f.tile[1], width - column);
                    staged.fill(
                        s, input, first, column * f.stride[1] - f.pad[1], met, ahead, input_end);
                    compute_tile(
                        f, staged, weights.data(), {band.data() + column, width, rows, columns});
                }
            });
            with_element_type(f.out_type, [&]<typename T>(T*) {
                T* const output = static_cast<T*>(call.out) + (plane * height + row) * width;
                if constexpr(std::is_same_v<T, float>)
                {
                    if(streams)
                    {
                        stream_run(band.data(), output, rows * width);
                        return;
                    }
                }
                narrow_run(band.data(), output, rows * width, f.rounding);
            });
        }
    }
}

} // namespace ck_tile::host_model
