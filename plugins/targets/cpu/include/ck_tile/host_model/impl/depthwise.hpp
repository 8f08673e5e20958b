// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ck_tile/host_model/depthwise.hpp"
#include "ck_tile/host_model/impl/kernel_text.hpp"
#include "ck_tile/host_model/impl/rows.hpp"
#include "ck_tile/host_model/impl/support.hpp"

namespace ck_tile::host_model::impl {

// The input under one output tile, widened to float. Columns are sorted by their remainder modulo
// the stride, so that what one tap meets in neighbouring windows lies side by side. Behind each
// remainder there is room to read or to write a whole vector.
class staged_tile
{
public:
    void shape(const depthwise_facts& f)
    {
        rows_    = f.lds_rows();
        columns_ = f.lds_columns();
        stride_  = f.stride[1];
        phase_   = round_up((columns_ + stride_ - 1) / stride_ + vector_width);
        // The first column that is not padding starts a cache line in each row.
        const std::int64_t before = round_up(f.pad[1]) - f.pad[1];
        data_.resize(static_cast<std::size_t>(rows_ * pitch() + 2 * vector_width + before));
        constexpr std::uintptr_t bytes = vector_width * sizeof(float);
        const auto start               = reinterpret_cast<std::uintptr_t>(data_.data());
        offset_ =
            static_cast<std::int64_t>((bytes - start % bytes) % bytes / sizeof(float)) + before;
        line_.resize(static_cast<std::size_t>(columns_ + vector_width));
    }

    // Positions outside the image are zeros. Stages the first `rows` rows, and has the input that
    // lies `distance` elements further on fetched if that is before `input_end`.
    template <typename T>
    void fill(const conv_shape& s,
              const T* image,
              std::int64_t first_row,
              std::int64_t first_column,
              std::int64_t rows,
              std::int64_t distance,
              const T* input_end)
    {
        // Copies, since the stores below might change members.
        const std::int64_t height = s.input[1], width = s.input[2], columns = columns_;
        const std::int64_t pitch = this->pitch(), stride = stride_;
        const std::int64_t begin = std::clamp<std::int64_t>(-first_column, 0, columns);
        const std::int64_t end   = std::clamp<std::int64_t>(width - first_column, begin, columns);
        const T* const source    = image + first_row * width + first_column + begin;
        float* const sorted      = data_.data() + offset_;
        float* const buffer      = line_.data();
        const std::int64_t valid_begin = std::clamp<std::int64_t>(-first_row, 0, rows);
        const std::int64_t valid_end =
            begin == end ? valid_begin
                         : std::clamp<std::int64_t>(height - first_row, valid_begin, rows);
        for(std::int64_t row = 0; row < valid_begin; ++row)
        {
            clear(sorted + row * pitch, 0, pitch);
        }
        for(std::int64_t row = valid_end; row < rows; ++row)
        {
            clear(sorted + row * pitch, 0, pitch);
        }
        const std::int64_t count = end - begin;
        const auto fill_rows     = [=, this](const auto& widen) {
            for(std::int64_t row = valid_begin; row < valid_end; ++row)
            {
                float* const at   = sorted + row * pitch;
                float* const line = stride == 1 ? at : buffer;
                clear(line, 0, begin);
                widen(source + row * width, line + begin);
                if(const T* const ahead = source + row * width; distance < input_end - ahead)
                {
                    constexpr std::int64_t per_line = 64 / std::int64_t{sizeof(T)};
                    for(std::int64_t i = 0; i < count; i += per_line)
                    {
                        __builtin_prefetch(ahead + distance + i);
                    }
                }
                clear(line, end, columns);
                if(stride != 1) { sort(line, at); }
            }
        };
        // Rows of few vectors are too short for a loop.
        constexpr std::int64_t w = vector_width;
        const auto runs          = [=]<int Whole>(std::integral_constant<int, Whole>) {
            fill_rows([=](const T* from, float* to) {
#pragma GCC unroll 4
                for(int i = 0; i < Whole; ++i)
                {
                    store_bytes(to + i * w, load_floats<vector_width>(from + i * w));
                }
                store_bytes(to + count - w, load_floats<vector_width>(from + count - w));
            });
        };
        switch((count + w - 1) / w - (count < w))
        {
        case 1: runs(std::integral_constant<int, 0>{}); break;
        case 2: runs(std::integral_constant<int, 1>{}); break;
        case 3: runs(std::integral_constant<int, 2>{}); break;
        default: fill_rows([=](const T* from, float* to) { widen_all(from, to, count); });
        }
    }

    const float* data() const { return data_.data() + offset_; }
    std::int64_t pitch() const { return phase_ * stride_; }
    std::int64_t phase() const { return phase_; }

private:
    static std::int64_t round_up(std::int64_t count)
    { return (count + vector_width - 1) / vector_width * vector_width; }

    // May clear up to a vector more.
    static void clear(float* line, std::int64_t begin, std::int64_t end)
    {
        for(; begin < end; begin += vector_width) { store_bytes(line + begin, vfloat{}); }
    }

    // The last vector overlaps the one before.
    template <typename T>
    static void widen_all(const T* source, float* destination, std::int64_t count)
    {
        if(count < vector_width)
        {
            widen_run(source, destination, count);
            return;
        }
        const std::int64_t last = count - vector_width;
        for(std::int64_t i = 0; i < last; i += vector_width)
        {
            store_bytes(destination + i, load_floats<vector_width>(source + i));
        }
        store_bytes(destination + last, load_floats<vector_width>(source + last));
    }

    void sort(const float* line, float* sorted) const
    {
        if(stride_ == 2)
        {
            for(std::int64_t i = 0; i < columns_ / 2; ++i)
            {
                sorted[i]          = line[2 * i];
                sorted[phase_ + i] = line[2 * i + 1];
            }
            if(columns_ % 2 != 0) { sorted[columns_ / 2] = line[columns_ - 1]; }
            return;
        }
        for(std::int64_t i = 0; i < columns_; ++i)
        {
            sorted[i % stride_ * phase_ + i / stride_] = line[i];
        }
    }

    std::int64_t rows_ = 0, columns_ = 0, stride_ = 1, phase_ = 0, offset_ = 0;
    std::vector<float> data_, line_;
};

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

CK_TILE_HOST_MODEL_API bool supports_depthwise(const depthwise_facts& f, const conv_shape& shape)
{
    using namespace impl;
    clear_refusal();
    if(!check_problem(shape)) { return false; }

    const int at_once = f.tiles_at_once();
    const int vector  = std::min(f.in_vector, 4);
    // Refuses, and says whether the test ends here.
    const auto ends = [](const char* condition, const std::string& reason) {
        return !refuse(condition, reason);
    };
    if(current_device().lanes != 64 &&
       ends("wave-size",
            "depthwise kernels need waves of 64; the device is " + current_device().name))
    {
        return false;
    }
    if((at_once < 1 || f.batch % at_once != 0) &&
       ends("batch",
            equation("the batch per block", f.batch) + " is not a multiple of the " +
                std::to_string(at_once) + " tiles per wave"))
    {
        return false;
    }
    if(f.sub_tile[1] * f.stride[1] % vector != 0 &&
       ends("row-access",
            "sub-tile width times stride = " + std::to_string(f.sub_tile[1] * f.stride[1]) +
                " is not a multiple of the input vector " + std::to_string(vector)))
    {
        return false;
    }
    if(!check_at_least("pad", "the kernel's width pad", f.pad[1], 1)) { return false; }
    if((f.lds_columns() + f.in_vector - 1) / f.in_vector > f.block_size &&
       ends("row-access",
            "a staged row of " + std::to_string(f.lds_columns()) + " elements needs more than " +
                std::to_string(f.block_size) + " threads"))
    {
        return false;
    }
    if(f.smem_bytes() > current_device().lds_bytes &&
       ends("lds",
            std::to_string(f.smem_bytes()) + " bytes of local memory, the device has " +
                std::to_string(current_device().lds_bytes)))
    {
        return false;
    }
    // Not tested by CK Tile, which then leaves outputs unwritten or reads past a pair.
    if(f.sub_tile[1] % std::min(f.out_vector, 4) != 0 &&
       ends("row-access",
            "sub-tile width " + std::to_string(f.sub_tile[1]) +
                " is not a multiple of the output vector " +
                std::to_string(std::min(f.out_vector, 4))))
    {
        return false;
    }
    if(f.stride[1] != 1 && f.stride[1] % 2 != 0 &&
       ends("stride", "the width stride " + std::to_string(f.stride[1]) + " is neither 1 nor even"))
    {
        return false;
    }

    const auto equal =
        [](const char* condition, const std::string& what, std::int64_t got, std::int64_t wanted) {
            return got == wanted ||
                   refuse(condition,
                          equation(what, got) + ", the kernel is for " + std::to_string(wanted));
        };
    if(!equal("channels", "K", shape.K, 1) || !equal("channels", "C", shape.C, 1)) { return false; }
    for(int i = 0; i < 2; ++i)
    {
        const int axis = i + 1;
        if(!equal("filter", axis_name("filter", axis), shape.filter[axis], f.filter[i]) ||
           !equal("stride", axis_name("stride", axis), shape.stride[axis], f.stride[i]) ||
           !equal("dilation", axis_name("dilation", axis), shape.dilation[axis], f.dilation[i]) ||
           !equal("pad", axis_name("left pad", axis), shape.left_pad[axis], f.pad[i]))
        {
            return false;
        }
    }
    if(shape.N % f.batch != 0 && ends("batch",
                                      equation("N", shape.N) + " is not a multiple of the " +
                                          std::to_string(f.batch) + " images per block"))
    {
        return false;
    }
    if(at_once != 1 && (shape.output[1] > f.tile[0] || shape.output[2] > f.tile[1]) &&
       ends("single-tile",
            "output " + std::to_string(shape.output[1]) + "x" + std::to_string(shape.output[2]) +
                " exceeds the single tile " + times(f.tile[0], f.tile[1])))
    {
        return false;
    }
    return true;
}

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

CK_TILE_HOST_MODEL_API std::string instance_string(const depthwise_facts& f)
{
    impl::field_list fields(',');
    fields << f.num_dim_spatial << "Default" << "Depthwise" << f.in_vector << f.in_vector
           << f.out_vector << f.block_size << f.tile[0] << f.tile[1] << f.filter[0] << f.filter[1]
           << f.stride[0] << f.stride[1] << f.batch << f.sub_tile[0] << f.sub_tile[1]
           << name_of(f.in_type) << name_of(f.wei_type) << "fp32" << name_of(f.out_type);
    return "GroupedConvolutionForwardKernel<" + fields.text() + ">";
}

CK_TILE_HOST_MODEL_API std::string kernel_name(const depthwise_facts& f)
{
    impl::field_list tokens('_');
    tokens << "grouped_convolution_forward_depthwise" << name_of(f.in_type) << "bs" << f.block_size
           << "th" << f.tile[0] << "tw" << f.tile[1] << "fh" << f.filter[0] << "fw" << f.filter[1]
           << "sh" << f.stride[0] << "sw" << f.stride[1] << "nb" << f.batch << "sbh"
           << f.sub_tile[0] << "sbw" << f.sub_tile[1] << "iv" << f.in_vector << "ov"
           << f.out_vector;
    return tokens.text();
}

} // namespace ck_tile::host_model
