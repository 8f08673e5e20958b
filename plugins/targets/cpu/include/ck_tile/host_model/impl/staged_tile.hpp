// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ck_tile/host_model/depthwise.hpp"
#include "ck_tile/host_model/impl/rows.hpp"

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

} // namespace ck_tile::host_model::impl
