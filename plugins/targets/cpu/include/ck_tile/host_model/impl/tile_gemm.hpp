// SPDX-License-Identifier: MIT
// The arithmetic core: one block's tile as packed float panels.
//
//   A  row-major [row][k], a fixed leading dimension; the micro-kernel broadcasts from it.
//   B  panels of panel_width columns, each [k][panel_width]; the last may be one vector wide.
//   accumulators  row-major [row][column].
//
// Only as many rows and columns are computed as the problem has, rounded up to a micro-tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "ck_tile/core/numeric/tfloat32.hpp"
#include "ck_tile/host_model/impl/rows.hpp"

namespace ck_tile::host_model::impl {

// Micro-tile of a full panel: rows x 2 vectors. 32 registers (AVX-512) carry 12 x 2 accumulators,
// two of B and a broadcast with room to spare; 16 registers carry 6 x 2.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int micro_rows = 8;
#else
inline constexpr int micro_rows = 6;
#endif
inline constexpr int panel_width = 2 * vector_width;

class float_buffer
{
public:
    // Contents are lost when the buffer grows.
    float* reserve(std::size_t count)
    {
        if(count > size_)
        {
            data_.reset();
            data_.reset(static_cast<float*>(::operator new(count * sizeof(float), alignment)));
            size_ = count;
        }
        return data_.get();
    }

private:
    static constexpr std::align_val_t alignment{64};
    struct deleter
    {
        void operator()(float* data) const { ::operator delete(data, alignment); }
    };
    std::unique_ptr<float, deleter> data_;
    std::size_t size_ = 0;
};

template <int Rows, int Vectors>
inline void micro_kernel(const float* a,
                         std::ptrdiff_t a_stride,
                         const float* b,
                         std::int64_t depth,
                         float* acc,
                         std::ptrdiff_t acc_stride)
{
    vfloat sum[Rows][Vectors];
#pragma GCC unroll 16
    for(int i = 0; i < Rows; ++i)
    {
#pragma GCC unroll 4
        for(int j = 0; j < Vectors; ++j)
        {
            sum[i][j] = load_bytes<vfloat>(acc + i * acc_stride + j * vector_width);
        }
    }
    for(std::int64_t k = 0; k < depth; ++k)
    {
        vfloat column[Vectors];
#pragma GCC unroll 4
        for(int j = 0; j < Vectors; ++j) { column[j] = load_bytes<vfloat>(b + j * vector_width); }
        b += Vectors * vector_width;
#pragma GCC unroll 16
        for(int i = 0; i < Rows; ++i)
        {
            const float scalar = a[i * a_stride + k];
#pragma GCC unroll 4
            for(int j = 0; j < Vectors; ++j) { sum[i][j] += column[j] * scalar; }
        }
    }
#pragma GCC unroll 16
    for(int i = 0; i < Rows; ++i)
    {
#pragma GCC unroll 4
        for(int j = 0; j < Vectors; ++j)
        {
            store_bytes(acc + i * acc_stride + j * vector_width, sum[i][j]);
        }
    }
}

class tile_gemm
{
public:
    // Prepares a tile of rows x columns (those inside the problem) with zero accumulators.
    // k_per_block is the deepest K block that multiply() will be given.
    void start(std::int64_t rows, std::int64_t columns, std::int64_t k_per_block, int accumulators)
    {
        rows_        = rows;
        padded_rows_ = (rows + micro_rows - 1) / micro_rows * micro_rows;
        columns_     = (columns + vector_width - 1) / vector_width * vector_width;
        a_stride_    = (k_per_block + vector_width - 1) / vector_width * vector_width;
        a_           = a_buffer_.reserve(static_cast<std::size_t>(padded_rows_ * a_stride_));
        b_           = b_buffer_.reserve(static_cast<std::size_t>(columns_ * a_stride_));
        // Rows that only fill up the last micro-tile are computed and dropped; zeros keep them
        // cheap.
        zero_run(a_ + rows * a_stride_, (padded_rows_ - rows) * a_stride_);

        const std::int64_t acc_size = padded_rows_ * columns_;
        acc_ = acc_buffer_.reserve(static_cast<std::size_t>(acc_size * accumulators));
        zero_run(acc_, acc_size * accumulators);
    }

    float* a_row(std::int64_t row) { return a_ + row * a_stride_; }
    std::int64_t a_stride() const { return a_stride_; }

    // Where element (k, column) of B belongs, column a multiple of vector_width; the next k is
    // b_stride(column) further.
    float* b_column(std::int64_t column, std::int64_t depth)
    {
        const std::int64_t panel = column / panel_width * panel_width;
        return b_ + panel * depth + (column - panel);
    }
    std::int64_t b_stride(std::int64_t column) const
    {
        const std::int64_t panel = column / panel_width * panel_width;
        return columns_ - panel < panel_width ? vector_width : panel_width;
    }
    // Columns to be packed, zeros included: a multiple of vector_width.
    std::int64_t columns() const { return columns_; }

    // Rounds what is packed of `depth` values of k to TF32.
    void round_operands(std::int64_t depth)
    {
        for(std::int64_t row = 0; row < rows_; ++row) { round_run(a_row(row), depth); }
        round_run(b_, columns_ * depth);
    }

    // accumulator += A * B over `depth` values of k.
    void multiply(std::int64_t depth, int accumulator)
    {
        float* acc          = acc_ + accumulator * padded_rows_ * columns_;
        std::int64_t column = 0;
        for(; column + panel_width <= columns_; column += panel_width)
        {
            multiply_panel<2>(column, depth, acc);
        }
        if(column < columns_) { multiply_panel<1>(column, depth, acc); }
    }

    // Adds the second accumulator to the first.
    void add_accumulators()
    {
        const std::int64_t size = padded_rows_ * columns_;
        for(std::int64_t i = 0; i < size; ++i) { acc_[i] += acc_[size + i]; }
    }

    const float* result_row(std::int64_t row) const { return acc_ + row * columns_; }
    float* result_row(std::int64_t row) { return acc_ + row * columns_; }

private:
    static void round_run(float* values, std::int64_t count)
    {
        for(std::int64_t i = 0; i < count; ++i) { values[i] = round_to_tf32(values[i]); }
    }

    template <int Vectors>
    void multiply_panel(std::int64_t column, std::int64_t depth, float* acc)
    {
        const float* b = b_ + column * depth;
        for(std::int64_t row = 0; row < padded_rows_; row += micro_rows)
        {
            micro_kernel<micro_rows, Vectors>(
                a_ + row * a_stride_, a_stride_, b, depth, acc + row * columns_ + column, columns_);
        }
    }

    std::int64_t rows_ = 0, padded_rows_ = 0, columns_ = 0, a_stride_ = 0;
    float* a_   = nullptr;
    float* b_   = nullptr;
    float* acc_ = nullptr;
    float_buffer a_buffer_, b_buffer_, acc_buffer_;
};

// Each worker thread keeps its panels between blocks.
inline tile_gemm& thread_tile_gemm()
{
    static thread_local tile_gemm gemm;
    return gemm;
}

} // namespace ck_tile::host_model::impl
