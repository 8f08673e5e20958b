// SPDX-License-Identifier: MIT
// Packing of operands that are plain matrices in memory, by their fastest axis.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ck_tile/host_model/impl/tile_gemm.hpp"

namespace ck_tile::host_model::impl {

// Packs columns whose elements k0 .. k0 + depth - 1 are contiguous: start(column) points to the
// first. Columns beyond `valid` become zeros.
template <typename T, typename Start>
inline void
pack_b_k_contiguous(tile_gemm& gemm, std::int64_t valid, std::int64_t depth, const Start& start)
{
    constexpr int W = vector_width;
    for(std::int64_t column = 0; column < gemm.columns(); column += W)
    {
        const int count           = static_cast<int>(std::min<std::int64_t>(W, valid - column));
        float* destination        = gemm.b_column(column, depth);
        const std::int64_t stride = gemm.b_stride(column);
        const T* source[W];
        for(int j = 0; j < W; ++j) { source[j] = start(column + std::min(j, count - 1)); }

        std::int64_t k = 0;
        for(; k + W <= depth; k += W)
        {
            vfloat rows[W];
            for(int j = 0; j < W; ++j) { rows[j] = load_floats<W>(source[j] + k); }
            transpose(rows);
            for(int i = 0; i < W; ++i) { store_bytes(destination + (k + i) * stride, rows[i]); }
        }
        for(; k < depth; ++k)
        {
            for(int j = 0; j < W; ++j)
            {
                destination[k * stride + j] = element_as_float(source[j] + k);
            }
        }
    }
}

// Packs B when the columns of one k are contiguous: start(k) points to the first of `valid`
// columns.
template <typename T, typename Start>
inline void
pack_b_n_contiguous(tile_gemm& gemm, std::int64_t valid, std::int64_t depth, const Start& start)
{
    for(std::int64_t k = 0; k < depth; ++k)
    {
        const T* source = start(k);
        for(std::int64_t column = 0; column < gemm.columns(); column += vector_width)
        {
            const auto count   = std::min<std::int64_t>(vector_width, valid - column);
            float* destination = gemm.b_column(column, depth) + k * gemm.b_stride(column);
            widen_run(source + column, destination, count);
            zero_run(destination + count, vector_width - count);
        }
    }
}

// Packs A when the rows of one k are contiguous: start(k) points to the first of `rows` rows.
template <typename T, typename Start>
inline void
pack_a_m_contiguous(tile_gemm& gemm, std::int64_t rows, std::int64_t depth, const Start& start)
{
    constexpr int W = vector_width;
    for(std::int64_t k = 0; k < depth; k += W)
    {
        const int count = static_cast<int>(std::min<std::int64_t>(W, depth - k));
        const T* source[W];
        for(int j = 0; j < W; ++j) { source[j] = start(k + std::min(j, count - 1)); }
        std::int64_t row = 0;
        for(; row + W <= rows && count == W; row += W)
        {
            vfloat block[W];
            for(int j = 0; j < W; ++j) { block[j] = load_floats<W>(source[j] + row); }
            transpose(block);
            for(int i = 0; i < W; ++i) { store_bytes(gemm.a_row(row + i) + k, block[i]); }
        }
        for(; row < rows; ++row)
        {
            for(int j = 0; j < count; ++j)
            {
                gemm.a_row(row)[k + j] = element_as_float(source[j] + row);
            }
        }
    }
}

} // namespace ck_tile::host_model::impl
