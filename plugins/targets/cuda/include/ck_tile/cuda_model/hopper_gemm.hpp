// SPDX-License-Identifier: MIT
// Engine W: the GEMM of every operation with the tensor copy engine and warpgroup
// products (sm_90a). One warp copies, the warpgroups multiply and store; blocks are persistent.
#pragma once

#include <type_traits>

#include "ck_tile/cuda_model/hopper_consumer.hpp"
#include "ck_tile/cuda_model/hopper_matrix_producer.hpp"
#include "ck_tile/cuda_model/hopper_producer.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
using producer_of =
    std::conditional_t<Config::plain, matrix_producer<Config>, hopper_producer<Config>>;

template <typename Config>
__device__ __forceinline__ void consume_tiles(const hopper_params_of<Config>& p,
                                              const hopper_shared<Config>& shared,
                                              int warpgroup,
                                              int stride)
{
    hopper_consumer<Config> consumer{p, shared, warpgroup, {shared.order, warpgroup}};
    int turn = 0;
    for(int tile = blockIdx.x; tile < p.work.tiles; tile += stride)
    {
        const hopper_tile_place place = find_hopper_place<Config>(p.work, tile);
        const int steps               = place.step_end - place.step_begin;
        if constexpr(Config::turns)
        {
            const bool mine = turn == warpgroup;
            turn ^= 1;
            if(!mine)
            {
                consumer.at.advance(steps);
                continue;
            }
        }
        consumer.multiply(steps);
        consumer.store_result(place);
    }
}

template <typename Config, typename Tag>
__global__ void __launch_bounds__(Config::threads, Config::resident)
    hopper_gemm(const __grid_constant__ hopper_params_of<Config> p)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
    extern __shared__ __align__(128) char memory[];
    const hopper_shared<Config> shared(memory);
    // The same value in all lanes, as the compiler can see.
    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
    // The copying warp prepares the barriers and begins at once; the others wait for that.
    const bool copies = warp == Config::warpgroups * 4;
    if(copies && threadIdx.x % 32 == 0)
    {
        prefetch_map(p.a);
        prefetch_map(p.b);
        for(int i = 0; i < 2; ++i) { barrier_init(shared.order + 8 * i, 4); }
        for(int i = 0; i < Config::stages; ++i)
        {
            barrier_init(shared.full + 8 * i, 1);
            barrier_init(shared.empty + 8 * i, Config::turns ? 4 : 4 * Config::warpgroups);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    const int stride       = static_cast<int>(gridDim.x);
    constexpr int start    = Config::registers_at_start(Config::resident);
    constexpr int consumer = Config::consumer_registers(Config::resident);
    if(warp >= Config::warpgroups * 4)
    {
        if constexpr(start > Config::producer_registers)
        {
            give_up_registers<Config::producer_registers>();
        }
        begin_together<true>(Config::threads);
        if(copies && threadIdx.x % 32 == 0)
        {
            producer_of<Config> producer{{p, shared}};
            for(int tile = blockIdx.x; tile < p.work.tiles; tile += stride)
            {
                producer.fill(find_hopper_place<Config>(p.work, tile));
            }
        }
    }
    else
    {
        if constexpr(consumer > start) { take_registers<consumer>(); }
        begin_together<false>(Config::threads);
        consume_tiles<Config>(p, shared, warp / 4, stride);
    }
#endif
}

} // namespace ck_tile::cuda_model
