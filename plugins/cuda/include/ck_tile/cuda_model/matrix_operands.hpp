// SPDX-License-Identifier: MIT
// Where the elements of two matrices and of their product lie in memory.
#pragma once

#include <cstddef>
#include <utility>

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
    const window_row* rows; // there are none
    std::int64_t first_window;

    static constexpr line_kind a_kind = line_kind::linear, b_kind = line_kind::linear;

    __device__ __forceinline__ address_part a_row(int element) const
    {
        const int row = at.first_row + element;
        return part_if(row < p.m, row * (Config::a_k_major ? p.stride_a : 1));
    }
    __device__ __forceinline__ address_part a_k(int k) const
    { return part_if(k < at.k_end, k * (Config::a_k_major ? 1 : p.stride_a)); }
    __device__ __forceinline__ address_part b_column(int element) const
    {
        const int column = at.first_column + element;
        return part_if(column < p.n, column * (Config::b_k_major ? p.stride_b : 1));
    }
    __device__ __forceinline__ address_part b_k(int k) const
    { return part_if(k < at.k_end, k * (Config::b_k_major ? 1 : p.stride_b)); }

    __device__ __forceinline__ std::int64_t a_distance() const { return p.stride_a; }
    __device__ __forceinline__ std::int64_t b_distance() const { return p.stride_b; }

    __device__ __forceinline__ std::int64_t a_start() const
    { return at.first_group * p.batch_stride_a; }
    __device__ __forceinline__ std::int64_t b_start() const
    { return at.first_group * p.batch_stride_b; }

    __device__ __forceinline__ bool exists(const address_part& side,
                                           const address_part& depth) const
    { return (side.bits & depth.bits) != 0; }
};

// Puts neighbouring elements of a tile's row into E.
template <typename Config>
struct matrix_result
{
    using element = stored_t<Config::e_type>;

    const matrix_params& p;
    const tile_place& at;
    bool add; // several parts of K share the result

    // Elements are put into memory one vector at a time, found each by itself.
    static constexpr bool separable = false;

    static constexpr int vector = Config::result_vector;
    // A problem's rows are whole numbers of these.
    static constexpr int piece = Config::vector_c < vector ? Config::vector_c : vector;

    __device__ __forceinline__ void
    operator()(int tile_row, int tile_column, const element* values) const
    {
        const int row = at.first_row + tile_row, column = at.first_column + tile_column;
        if(row >= p.m || column >= p.n) { return; }
        if constexpr(Config::d_tensors::count == 0) { put(row, column, values); }
        else
        {
            alignas(16) element combined[vector];
            combine(row, column, values, combined, std::make_index_sequence<d_count>{});
            put(row, column, combined);
        }
    }

    static constexpr std::size_t d_count = Config::d_tensors::count;

    // The product, rounded to the type of the result, with the D tensors, in fp32.
    template <std::size_t... D>
    __device__ __forceinline__ void combine(int row,
                                            int column,
                                            const element* values,
                                            element (&combined)[vector],
                                            std::index_sequence<D...>) const
    {
        float sum[vector];
#pragma unroll
        for(int i = 0; i < vector; ++i) { sum[i] = widen<Config::e_type>(values[i]); }
        (combine_with<Config::d_tensors::types[D]>(
             p.d[D], row * p.stride_d[D] + column, p.n - column, sum),
         ...);
#pragma unroll
        for(int i = 0; i < vector; ++i)
        {
            combined[i] = narrow<Config::e_type, Config::rounding>(sum[i]);
        }
    }

    // `rest`: elements of the row from the first one on.
    template <data_type Type>
    __device__ __forceinline__ void
    combine_with(const void* tensor, std::int64_t offset, int rest, float (&sum)[vector]) const
    {
        static_assert(host_model::size_of(Type) > 1, "D tensors of 8 bits");
        using d_element              = stored_t<Type>;
        const d_element* const first = static_cast<const d_element*>(tensor) + offset;
        constexpr host_model::d_operation operation = Config::d_tensors::operation;
        alignas(16) d_element read[vector];
        if(p.wide)
        {
            // 16 bytes or less at a time.
            constexpr int bytes = vector * static_cast<int>(sizeof(d_element));
            using raw           = typename raw_vector < bytes<16 ? bytes : 16>::type;
#pragma unroll
            for(int i = 0; i < (bytes < 16 ? 1 : bytes / 16); ++i)
            {
                reinterpret_cast<raw*>(read)[i] = reinterpret_cast<const raw*>(first)[i];
            }
        }
        else
        {
#pragma unroll
            for(int i = 0; i < vector; ++i) { read[i] = i < rest ? first[i] : d_element{}; }
        }
#pragma unroll
        for(int i = 0; i < vector; ++i)
        {
            const float value = widen<Type>(read[i]);
            sum[i] = operation == host_model::d_operation::add ? sum[i] + value : sum[i] * value;
        }
    }

    __device__ __forceinline__ void put(int row, int column, const element* values) const
    {
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
