// SPDX-License-Identifier: MIT
// Packing of B from memory in which K is the fastest axis.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ck_tile/host_model/impl/tile_gemm.hpp"

namespace ck_tile::host_model::impl {

// Packs columns whose elements k0 .. k0 + depth - 1 are contiguous: start(column) points to the first.
// Columns beyond `valid` become zeros.
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

} // namespace ck_tile::host_model::impl
