// SPDX-License-Identifier: MIT
// Stream-K on the device: the schedule is the host model's, the partial tiles are kept in the order
// of the registers.
//
// Workgroups wait only for workgroups of larger number, and these have smaller block numbers,
// which the hardware starts first.
#pragma once

#include "ck_tile/cuda_model/implicit_gemm.hpp"
#include "ck_tile/host_model/stream_k.hpp"

namespace ck_tile::cuda_model {

template <typename Config, bool Tree, bool Persistent>
struct stream_k_block
{
    const gemm_params& p;
    const host_model::stream_k_plan& plan;
    char* shared;
    tile_place at;
    compute_tile<Config> tile;

    __device__ __forceinline__ void accumulate_tile(long long number, int first_loop, int last_loop)
    {
        const auto tile_row = static_cast<int>(number / plan.n_tiles);
        at                  = tile_place{};
        at.first_row        = tile_row / p.batch * Config::m;
        at.first_column     = static_cast<int>(number % plan.n_tiles) * Config::n;
        at.first_group      = tile_row % p.batch * Config::merged;
        at.k_begin          = min(p.k, first_loop * Config::k);
        at.k_end            = min(p.k, last_loop * Config::k);
        accumulate<Config>(p, at, shared, tile);
    }

    __device__ __forceinline__ void store()
    {
        static_assert(!Config::fused::exists);
        const typename Config::fused none{};
        const result_place<Config> put{p, at, false, none};
        tile.template store<result_place<Config>::vector>(
            shared + shared_layout<Config>::rows_bytes, put);
        __syncthreads();
    }

    __device__ __forceinline__ void data_parallel_tile(long long number)
    {
        accumulate_tile(number, 0, static_cast<int>(plan.loops));
        store();
    }

    // All K blocks of stream-K workgroup c, tile by tile.
    __device__ __forceinline__ void workgroup(long long c)
    {
        const long long end = plan.start(c + 1);
        for(long long k = plan.start(c); k < end;)
        {
            const long long number   = k / plan.loops;
            const long long begins   = number * plan.loops;
            const long long tile_end = begins + plan.loops;
            const long long piece    = end < tile_end ? end : tile_end;
            accumulate_tile(number, static_cast<int>(k - begins), static_cast<int>(piece - begins));
            if constexpr(Tree) { reduce_tree(c, begins, tile_end); }
            else
            {
                reduce_linear(c, begins, tile_end);
            }
            k = piece;
        }
    }

    // The workgroup with the tile's first K block adds the parts of its successors in order.
    __device__ __forceinline__ void reduce_linear(long long c, long long begins, long long tile_end)
    {
        if(plan.start(c) > begins)
        {
            publish(c);
            return;
        }
        for(long long next = c + 1; next < plan.sk_ctas && plan.start(next) < tile_end; ++next)
        {
            add_partial(next);
        }
        store();
    }

    // Pairwise over the workgroups of the tile: ((p0 + p1) + (p2 + p3)) + ...
    __device__ __forceinline__ void reduce_tree(long long c, long long begins, long long tile_end)
    {
        long long first = c;
        while(first > 0 && plan.start(first) > begins) { --first; }
        const long long local = c - first;
        for(long long step = 1;; step *= 2)
        {
            if(local % (2 * step) != 0)
            {
                publish(c);
                return;
            }
            const long long partner = c + step;
            if(partner < plan.sk_ctas && plan.start(partner) < tile_end) { add_partial(partner); }
            else if(local == 0) { break; } // larger steps lead further beyond the tile
        }
        store();
    }

    __device__ __forceinline__ float* partial(long long c) const
    {
        return reinterpret_cast<float*>(static_cast<char*>(p.workspace) + plan.flag_bytes()) +
               c * (Config::m * Config::n);
    }

    __device__ __forceinline__ unsigned* flag(long long c) const
    { return static_cast<unsigned*>(p.workspace) + c; }

    __device__ __forceinline__ void publish(long long c)
    {
        float* destination = partial(c);
        tile.for_each_sum([&](int place, float& value) { __stcg(destination + place, value); });
        __threadfence();
        __syncthreads();
        if(threadIdx.x == 0)
        {
            asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag(c)), "r"(1u) : "memory");
        }
    }

    __device__ __forceinline__ void add_partial(long long c)
    {
        if(threadIdx.x == 0)
        {
            unsigned ready = 0;
            while(ready == 0)
            {
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                             : "=r"(ready)
                             : "l"(flag(c))
                             : "memory");
            }
        }
        __syncthreads();
        const float* source = partial(c);
        tile.for_each_sum([&](int place, float& value) { value += __ldcg(source + place); });
    }
};

template <typename Config, bool Tree, bool Persistent, typename Tag>
__global__ void __launch_bounds__(Config::threads, Config::blocks)
    stream_k_gemm(const __grid_constant__ gemm_params p,
                  const __grid_constant__ host_model::stream_k_plan plan)
{
    extern __shared__ __align__(128) char shared[];
    stream_k_block<Config, Tree, Persistent> work{p, plan, shared};
    const long long id = static_cast<long long>(gridDim.x) - 1 - blockIdx.x;
    if constexpr(!Persistent)
    {
        if(id < plan.dp_tiles) { work.data_parallel_tile(id); }
        else
        {
            work.workgroup(id - plan.dp_tiles);
        }
    }
    else
    {
        for(long long number = id; number < plan.dp_tiles; number += gridDim.x)
        {
            work.data_parallel_tile(number);
        }
        if(id < plan.sk_ctas) { work.workgroup(id); }
    }
}

} // namespace ck_tile::cuda_model
