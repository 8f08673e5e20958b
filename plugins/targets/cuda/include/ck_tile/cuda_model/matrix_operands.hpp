// SPDX-License-Identifier: MIT
// Where the elements of two matrices and of their product lie in memory.
#pragma once

#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/cuda_model/matrix_params.hpp"
#include "ck_tile/cuda_model/operands.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
    requires Config::plain
struct operands<Config>
{
    const matrix_params& p;
    const tile_place& at;
    const address_part* rows; // of windows; there are none

    __device__ __forceinline__ static address_part part(bool exists, std::int64_t offset)
    { return {exists ? offset : 0, 0, 0, exists ? 0 : nowhere}; }

    // An element of K, M or N of the tile, times the distance of neighbours.
    __device__ __forceinline__ address_part along_k(int element, int k0, std::int64_t step) const
    { return part(k0 + element < at.k_end, (k0 + element) * step); }
    __device__ __forceinline__ address_part along_m(int element, std::int64_t step) const
    { return part(at.first_row + element < p.m, (at.first_row + element) * step); }
    __device__ __forceinline__ address_part along_n(int element, std::int64_t step) const
    { return part(at.first_column + element < p.n, (at.first_column + element) * step); }

    __device__ __forceinline__ address_part a_line(int line, int k0) const
    { return Config::a_k_major ? along_m(line, p.stride_a) : along_k(line, k0, p.stride_a); }
    __device__ __forceinline__ address_part a_column(int element, int k0) const
    { return Config::a_k_major ? along_k(element, k0, 1) : along_m(element, 1); }
    __device__ __forceinline__ address_part b_line(int line, int k0) const
    { return Config::b_k_major ? along_n(line, p.stride_b) : along_k(line, k0, p.stride_b); }
    __device__ __forceinline__ address_part b_column(int element, int k0) const
    { return Config::b_k_major ? along_k(element, k0, 1) : along_n(element, 1); }

    __device__ __forceinline__ std::int64_t a_start() const
    { return at.first_group * p.batch_stride_a; }
    __device__ __forceinline__ std::int64_t b_start() const
    { return at.first_group * p.batch_stride_b; }

    static constexpr bool a_windowed = false;
    static constexpr bool b_windowed = false;
};

// Puts neighbouring elements of a tile's row into E.
template <typename Config>
struct matrix_result
{
    using element = stored_t<Config::e_type>;

    const matrix_params& p;
    const tile_place& at;
    bool add; // several parts of K share the result

    static constexpr int vector = Config::result_vector;
    // A problem's rows are whole numbers of these.
    static constexpr int piece = Config::vector_c < vector ? Config::vector_c : vector;

    __device__ __forceinline__ void
    operator()(int tile_row, int tile_column, const element* values) const
    {
        const int row = at.first_row + tile_row, column = at.first_column + tile_column;
        if(row >= p.m || column >= p.n) { return; }
        element* to = static_cast<element*>(p.e) + at.first_group * p.batch_stride_e +
                      row * p.stride_e + column;
        if(p.wide && !add)
        {
            copy<vector>(to, values);
            return;
        }
#pragma unroll
        for(int i = 0; i < vector; i += piece)
        {
            if(column + i >= p.n) { return; }
            if(add) { add_to_memory<Config::e_type, piece>(to + i, values + i); }
            else
            {
                copy<piece>(to + i, values + i);
            }
        }
    }

    template <int Count>
    __device__ __forceinline__ static void copy(element* to, const element* values)
    {
        using raw = typename raw_vector<Count* static_cast<int>(sizeof(element))>::type;
        *reinterpret_cast<raw*>(to) = *reinterpret_cast<const raw*>(values);
    }
};

} // namespace ck_tile::cuda_model
