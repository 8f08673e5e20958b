// SPDX-License-Identifier: MIT
// The products of one block's tile in fp32, by fused multiply-adds.
#pragma once

#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/cuda_model/fused_operation.hpp"
#include "ck_tile/cuda_model/ptx.hpp"
#include "ck_tile/cuda_model/tile_config.hpp"

namespace ck_tile::cuda_model {

namespace impl {

struct thread_grid
{ int m, n; };

// As many threads as the tile has work for, each with as square a part as possible.
constexpr thread_grid arrange_threads(int m, int n, int threads)
{
    thread_grid best{1, 1};
    for(int y = 1; y <= threads && m % y == 0; y *= 2)
    {
        for(int x = 1; x * y <= threads && n % x == 0; x *= 2)
        {
            const bool more   = x * y > best.m * best.n;
            const bool equal  = x * y == best.m * best.n;
            const bool better = m / y + n / x < m / best.m + n / best.n;
            if(more || (equal && better)) { best = {y, x}; }
        }
    }
    return best;
}

constexpr int row_vector(int rows) { return rows % 4 == 0 ? 4 : rows % 2 == 0 ? 2 : 1; }

} // namespace impl

template <typename Config>
struct ffma_tile
{
    static_assert(Config::ab_type == data_type::fp32);

    static constexpr impl::thread_grid grid =
        impl::arrange_threads(Config::m, Config::n, Config::threads);
    static constexpr int rows = Config::m / grid.m, columns = Config::n / grid.n;

    static constexpr int staging_bytes = 0;
    static constexpr int accumulators  = rows * columns;

    // Neighbouring rows of a thread where they are contiguous in shared memory.
    static constexpr int a_run = Config::a_k_major ? 1 : impl::row_vector(rows);
    static constexpr int b_run = Config::b_k_major ? 1 : impl::row_vector(columns);

    float sum[rows][columns];
    int y, x;
    bool idle;

    __device__ __forceinline__ ffma_tile()
    {
        idle = threadIdx.x >= grid.m * grid.n;
        y    = threadIdx.x / grid.n;
        x    = threadIdx.x % grid.n;
    }

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for(auto& row : sum)
#pragma unroll
            for(float& value : row) { value = 0; }
    }

    __device__ __forceinline__ int row_at(int i) const
    { return (i / a_run * grid.m + y) * a_run + i % a_run; }
    __device__ __forceinline__ int column_at(int j) const
    { return (j / b_run * grid.n + x) * b_run + j % b_run; }

    // Four steps of K of Count lines: values[line][step].
    template <bool KMajor, int Count, int Run, typename Layout, typename At>
    __device__ __forceinline__ static void
    fetch(float (&values)[Count][4], const char* tile, int k, const At& line_at)
    {
        if constexpr(KMajor)
        {
#pragma unroll
            for(int i = 0; i < Count; ++i)
            {
                const float4 four =
                    *reinterpret_cast<const float4*>(tile + Layout::at(line_at(i), k * 4));
                values[i][0] = four.x;
                values[i][1] = four.y;
                values[i][2] = four.z;
                values[i][3] = four.w;
            }
        }
        else
        {
#pragma unroll
            for(int step = 0; step < 4; ++step)
#pragma unroll
                for(int i = 0; i < Count; i += Run)
                {
                    const char* at = tile + Layout::at(k + step, line_at(i) * 4);
                    if constexpr(Run == 4)
                    {
                        const float4 four   = *reinterpret_cast<const float4*>(at);
                        values[i][step]     = four.x;
                        values[i + 1][step] = four.y;
                        values[i + 2][step] = four.z;
                        values[i + 3][step] = four.w;
                    }
                    else if constexpr(Run == 2)
                    {
                        const float2 two    = *reinterpret_cast<const float2*>(at);
                        values[i][step]     = two.x;
                        values[i + 1][step] = two.y;
                    }
                    else
                    {
                        values[i][step] = *reinterpret_cast<const float*>(at);
                    }
                }
        }
    }

    static constexpr int copy_parts = 1;

    __device__ __forceinline__ void begin(std::uint32_t) {}

    // Adds the products of one stage. Calls copy(0), which copies a later one, and then finish().
    template <typename Copy, typename Finish>
    __device__ __forceinline__ void
    multiply_stage(std::uint32_t stage, const Copy& copy, const Finish& finish)
    {
        copy(0);
        if(!idle) { multiply(stage); }
        finish();
    }

    __device__ __forceinline__ void multiply(std::uint32_t stage)
    {
        using a_layout     = typename Config::a_layout;
        using b_layout     = typename Config::b_layout;
        const char* a_tile = static_cast<const char*>(__cvta_shared_to_generic(stage));
        const char* b_tile = a_tile + Config::a_bytes;
#pragma unroll 2
        for(int k = 0; k < Config::k; k += 4)
        {
            float a[rows][4], b[columns][4];
            fetch<Config::a_k_major, rows, a_run, a_layout>(
                a, a_tile, k, [&](int i) { return row_at(i); });
            fetch<Config::b_k_major, columns, b_run, b_layout>(
                b, b_tile, k, [&](int j) { return column_at(j); });
#pragma unroll
            for(int step = 0; step < 4; ++step)
#pragma unroll
                for(int i = 0; i < rows; ++i)
#pragma unroll
                    for(int j = 0; j < columns; ++j)
                    {
                        sum[i][j] = __fmaf_rn(a[i][step], b[j][step], sum[i][j]);
                    }
        }
    }

    template <int Vector, typename Put>
    __device__ __forceinline__ void store(char*, const Put& put)
    {
        if(idle) { return; }
        using element = stored_t<Config::e_type>;
        if constexpr(Config::fused::exists && Put::separable)
        {
#pragma unroll
            for(int i = 0; i < rows; ++i)
            {
                element values[columns];
#pragma unroll
                for(int j = 0; j < columns; ++j)
                {
                    values[j] = narrow<Config::e_type, Config::rounding>(sum[i][j]);
                }
                put_rounds<columns, false>(
                    put.combining(),
                    [&](int) { return put.row_at(row_at(i)); },
                    [&](int j) { return put.column_part(column_at(j)); },
                    [&](int j) { return values + j; },
                    [] {});
            }
        }
        else
        {
#pragma unroll
            for(int i = 0; i < rows; ++i)
#pragma unroll
                for(int j = 0; j < columns; ++j)
                {
                    const element value = narrow<Config::e_type, Config::rounding>(sum[i][j]);
                    put(row_at(i), column_at(j), &value);
                }
        }
    }

    template <typename Exchange>
    __device__ __forceinline__ void for_each_sum(const Exchange& exchange)
    {
        if(idle) { return; }
#pragma unroll
        for(int i = 0; i < rows; ++i)
#pragma unroll
            for(int j = 0; j < columns; ++j)
            {
                exchange((i * columns + j) * grid.m * grid.n + static_cast<int>(threadIdx.x),
                         sum[i][j]);
            }
    }
};

} // namespace ck_tile::cuda_model
