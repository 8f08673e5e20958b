// SPDX-License-Identifier: MIT
// How engine W puts the product of two matrices into memory.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/hopper_shared.hpp"
#include "ck_tile/cuda_model/matrix_operands.hpp"

namespace ck_tile::cuda_model {

__device__ __forceinline__ void add_four(float* to, const float* values)
{
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to),
                 "f"(values[0]),
                 "f"(values[1]),
                 "f"(values[2]),
                 "f"(values[3])
                 : "memory");
}

__device__ __forceinline__ void add_four(int* to, const int* values)
{
#pragma unroll
    for(int i = 0; i < 4; ++i) { atomicAdd(to + i, values[i]); }
}

__device__ __forceinline__ void take_four(float* from, float* values)
{
    const float4 four                = __ldcg(reinterpret_cast<const float4*>(from));
    *reinterpret_cast<float4*>(from) = make_float4(0, 0, 0, 0);
    values[0] = four.x, values[1] = four.y, values[2] = four.z, values[3] = four.w;
}

__device__ __forceinline__ void take_four(int* from, int* values)
{
    const int4 four                = __ldcg(reinterpret_cast<const int4*>(from));
    *reinterpret_cast<int4*>(from) = make_int4(0, 0, 0, 0);
    values[0] = four.x, values[1] = four.y, values[2] = four.z, values[3] = four.w;
}

// Adds one part of K to the sums of its tile, which lie in the order of the threads' registers.
// Returns whether it was the last part: then the accumulators hold the sum of all, and the memory
// zeros. Warps whose rows are all behind the end leave them out.
template <typename Consumer>
__device__ __forceinline__ bool collect_parts(Consumer& c, const hopper_tile_place& place)
{
    using config         = typename Consumer::config;
    using sum_type       = typename Consumer::sum_type;
    constexpr int quads  = Consumer::regs / 4;
    const matrix_work& w = c.p.work;
    sum_type* sums       = static_cast<sum_type*>(w.partial) +
                           static_cast<std::int64_t>(place.number) * (config::m * config::n) +
                           (static_cast<int>(threadIdx.x) - c.lead()) * 4;
    const int row =
        place.at.first_row + c.first_row() + static_cast<int>(threadIdx.x) / 32 % 4 * 16;
#pragma unroll
    for(int i = 0; i < Consumer::blocks; ++i)
    {
        if(row + i * 64 >= w.g.m) { continue; }
#pragma unroll
        for(int q = 0; q < quads; ++q)
        {
            add_four(sums + (i * quads + q) * (Consumer::team * 4), c.sum[i] + q * 4);
        }
    }
    if(!c.arrives_last(w.arrived + place.number, w.g.k_batch)) { return false; }
#pragma unroll
    for(int i = 0; i < Consumer::blocks; ++i)
    {
        if(row + i * 64 >= w.g.m) { continue; }
#pragma unroll
        for(int q = 0; q < quads; ++q)
        {
            take_four(sums + (i * quads + q) * (Consumer::team * 4), c.sum[i] + q * 4);
        }
    }
    return true;
}

template <typename Consumer>
__device__ __forceinline__ void store_matrix(Consumer& c, const hopper_tile_place& place)
{
    using config         = typename Consumer::config;
    using element        = typename Consumer::element;
    using sum_type       = typename Consumer::sum_type;
    const matrix_work& w = c.p.work;
    if(w.g.k_batch > 1 && !collect_parts(c, place)) { return; }
    const matrix_result<config> put{w.g, place.at, false};
    c.template store<element, matrix_result<config>::vector>(
        [](element* to, sum_type a, sum_type b) {
            if constexpr(config::integer) { *reinterpret_cast<int2*>(to) = make_int2(a, b); }
            else
            {
                Consumer::narrow_pair(to, a, b);
            }
        },
        put);
}

} // namespace ck_tile::cuda_model
