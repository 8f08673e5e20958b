// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ck_tile/host_model/depthwise.hpp"
#include "ck_tile/host_model/impl/kernel_text.hpp"
#include "ck_tile/host_model/impl/rows.hpp"
#include "ck_tile/host_model/impl/support.hpp"

namespace ck_tile::host_model::impl {

// The input under one output tile, widened to float. Columns are sorted by their remainder modulo
// the stride, so that what one tap meets in neighbouring windows lies side by side. Behind each
// remainder there is room to read a whole vector.
class staged_tile
{
public:
    void shape(const depthwise_facts& f)
    {
        rows_    = f.lds_rows();
        columns_ = f.lds_columns();
        stride_  = f.stride[1];
        phase_   = (columns_ + stride_ - 1) / stride_ + vector_width;
        data_.resize(static_cast<std::size_t>(rows_ * pitch()));
        line_.resize(static_cast<std::size_t>(columns_));
    }

    // Positions outside the image are zeros.
    template <typename T>
    void
    fill(const conv_shape& s, const T* image, std::int64_t first_row, std::int64_t first_column)
    {
        const std::int64_t height = s.input[1], width = s.input[2];
        const std::int64_t begin = std::clamp<std::int64_t>(-first_column, 0, columns_);
        const std::int64_t end   = std::clamp<std::int64_t>(width - first_column, begin, columns_);
        for(std::int64_t row = 0; row < rows_; ++row)
        {
            float* const sorted   = data_.data() + row * pitch();
            float* const line     = stride_ == 1 ? sorted : line_.data();
            const std::int64_t at = first_row + row;
            if(at < 0 || at >= height || begin == end) { zero_run(line, columns_); }
            else
            {
                const std::int64_t from = at * width + first_column + begin;
                zero_run(line, begin);
                widen_run(image + from, line + begin, end - begin);
                zero_run(line + end, columns_ - end);
                if(at + rows_ahead < height)
                {
                    constexpr std::int64_t per_line = line_bytes / std::int64_t{sizeof(T)};
                    const T* const ahead            = image + from + rows_ahead * width;
                    for(std::int64_t i = 0; i < end - begin; i += per_line)
                    {
                        __builtin_prefetch(ahead + i);
                    }
                }
            }
            if(stride_ != 1) { sort(line, sorted); }
        }
    }

    const float* row(std::int64_t row) const { return data_.data() + row * pitch(); }
    std::int64_t pitch() const { return phase_ * stride_; }
    std::int64_t phase() const { return phase_; }

private:
    // A tile takes a part of each line of the image, a pattern that the hardware does not foresee.
    static constexpr std::int64_t rows_ahead = 8;
    static constexpr std::int64_t line_bytes = 64;

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

    std::int64_t rows_ = 0, columns_ = 0, stride_ = 1, phase_ = 0;
    std::vector<float> data_, line_;
};

// One row of outputs: taps in rising order, one multiply-add each. Whole vectors go to `sums`, the
// rest as the start of one more to `rest`. A Filter or Stride of 0 is any.
template <int Filter, int Stride>
inline void depthwise_row(const depthwise_facts& f,
                          const staged_tile& staged,
                          const float* weights,
                          std::int64_t first_row,
                          std::int64_t count,
                          float* sums,
                          float* rest)
{
    const int height         = Filter != 0 ? Filter : f.filter[0];
    const int width          = Filter != 0 ? Filter : f.filter[1];
    const int stride         = Stride != 0 ? Stride : f.stride[1];
    const std::int64_t pitch = staged.pitch(), phase = staged.phase();
    const float* const window = staged.row(first_row);
    for(std::int64_t i = 0; i < count; i += vector_width)
    {
        vfloat sum{};
#pragma GCC unroll 5
        for(int y = 0; y < height; ++y)
        {
            const float* const line = window + y * pitch + i;
#pragma GCC unroll 5
            for(int x = 0; x < width; ++x)
            {
                const auto met = load_bytes<vfloat>(line + x % stride * phase + x / stride);
                sum += met * weights[y * width + x];
            }
        }
        store_bytes(i + vector_width <= count ? sums + i : rest, sum);
    }
}

using depthwise_row_function = void (*)(const depthwise_facts&,
                                        const staged_tile&,
                                        const float*,
                                        std::int64_t,
                                        std::int64_t,
                                        float*,
                                        float*);

inline depthwise_row_function choose_depthwise_row(const depthwise_facts& f)
{
    const auto is = [&f](int filter, int stride) {
        return f.filter[0] == filter && f.filter[1] == filter && f.stride[1] == stride;
    };
    if(is(3, 1)) { return &depthwise_row<3, 1>; }
    if(is(3, 2)) { return &depthwise_row<3, 2>; }
    if(is(5, 1)) { return &depthwise_row<5, 1>; }
    if(is(5, 2)) { return &depthwise_row<5, 2>; }
    return &depthwise_row<0, 0>;
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

    static thread_local std::vector<float> weights, sums;
    static thread_local staged_tile staged;
    staged.shape(f);
    weights.resize(static_cast<std::size_t>(taps));
    sums.resize(static_cast<std::size_t>(f.tile[1] + vector_width));
    with_element_type(f.wei_type, [&]<typename T>(T*) {
        widen_run(static_cast<const T*>(call.wei) + group * taps, weights.data(), taps);
    });

    const depthwise_row_function compute_row = choose_depthwise_row(f);

    const std::int64_t last = std::min<std::int64_t>(s.N, (std::int64_t{block.y} + 1) * f.batch);
    for(std::int64_t image = std::int64_t{block.y} * f.batch; image < last; ++image)
    {
        const std::int64_t plane = image * s.G + group;
        for(std::int64_t row = 0; row < height; row += f.tile[0])
        {
            for(std::int64_t column = 0; column < width; column += f.tile[1])
            {
                with_element_type(f.in_type, [&]<typename T>(T*) {
                    staged.fill(s,
                                static_cast<const T*>(call.in) + plane * s.input[1] * s.input[2],
                                row * f.stride[0] - f.pad[0],
                                column * f.stride[1] - f.pad[1]);
                });
                const std::int64_t rows    = std::min<std::int64_t>(f.tile[0], height - row);
                const std::int64_t columns = std::min<std::int64_t>(f.tile[1], width - column);
                for(std::int64_t i = 0; i < rows; ++i)
                {
                    with_element_type(f.out_type, [&]<typename T>(T*) {
                        T* const line            = static_cast<T*>(call.out) +
                                                   ((plane * height + row + i) * width + column);
                        const std::int64_t whole = columns / vector_width * vector_width;
                        const std::int64_t from  = i * f.stride[0];
                        float* const buffer      = sums.data();
                        if constexpr(std::is_same_v<T, float>)
                        {
                            compute_row(f, staged, weights.data(), from, columns, line, buffer);
                            narrow_run(buffer, line + whole, columns - whole, f.rounding);
                        }
                        else
                        {
                            compute_row(
                                f, staged, weights.data(), from, columns, buffer, buffer + whole);
                            narrow_run(buffer, line, columns, f.rounding);
                        }
                    });
                }
            }
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
