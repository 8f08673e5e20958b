// SPDX-License-Identifier: MIT
// Engine W: the GEMM of every operation with the tensor copy engine and warpgroup
// products (sm_90a). One warp copies, the warpgroups multiply and store; blocks are persistent.
#pragma once

#include <type_traits>

#include "ck_tile/cuda_model/dependent_launch.hpp"
#include "ck_tile/cuda_model/hopper_consumer.hpp"
#include "ck_tile/cuda_model/hopper_matrix_producer.hpp"
#include "ck_tile/cuda_model/hopper_producer.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
using producer_of =
    std::conditional_t<Config::plain, matrix_producer<Config>, hopper_producer<Config>>;

template <typename Config>
__device__ __forceinline__ bool uses_clusters(const hopper_params_of<Config>& p)
{ return Config::clusters && p.work.sums.cluster > 1; }

template <typename Config>
__device__ __forceinline__ void consume_tiles(const hopper_params_of<Config>& p,
                                              const typename Config::fused& fused,
                                              const hopper_shared<Config>& shared,
                                              int warpgroup,
                                              const tile_walk& walk)
{
    hopper_consumer<Config> consumer{p, fused, shared, warpgroup, {shared.order, warpgroup}};
    int turn = 0;
    for(int tile = walk.first; tile < walk.end; tile += walk.stride)
    {
        const hopper_tile_place place = find_hopper_place<Config>(p.work, walk.offset + tile);
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
        channel_operation<Config> operation;
        operation.read(fused, p.work.g, place.at, consumer.first_row());
        consumer.multiply(steps);
        consumer.store_result(place, turn, operation);
        if constexpr(!Config::turns) { turn ^= 1; }
    }
}

// One lane calls this.
template <typename Config>
__device__ __forceinline__ void copy_operands(const hopper_params_of<Config>& p,
                                              const hopper_shared<Config>& shared,
                                              const tile_walk& walk)
{
    producer_of<Config> producer{{p, shared}};
    std::uint32_t turn = 0;
    for(int tile = walk.first; tile < walk.end; tile += walk.stride)
    {
        producer.fill(find_hopper_place<Config>(p.work, walk.offset + tile));
        // Sums arrive where operands are.
        if(uses_clusters<Config>(p) && tile + walk.stride < walk.end)
        {
            barrier_wait(shared.drained, turn);
            turn ^= 1;
        }
    }
}

// Meets the threads of the block, or of its cluster; those that copy only say that they are there.
template <typename Config, bool Copies>
__device__ __forceinline__ void begin(const hopper_params_of<Config>& p)
{
    if(uses_clusters<Config>(p))
    {
        cluster_arrive();
        if constexpr(!Copies) { cluster_wait(); }
    }
    else
    {
        begin_together<Copies>(Config::threads);
    }
}

template <typename Tag, typename Config>
__global__ void __launch_bounds__(Config::threads, Config::resident)
    hopper_gemm(const __grid_constant__ hopper_params_of<Config> p,
                const __grid_constant__ typename Config::fused fused)
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
        shared.init_barriers(uses_clusters<Config>(p) ? p.work.sums.cluster : 1);
    }
    const tile_walk walk =
        walk_tiles(p.work.sums, p.work.tiles, cluster_number(), cluster_count(), cluster_rank());
    constexpr int start    = Config::plan.registers_at_start(Config::resident);
    constexpr int consumer = Config::plan.consumer_registers(Config::resident);
    if(warp >= Config::warpgroups * 4)
    {
        if constexpr(start > Config::producer_registers)
        {
            give_up_registers<Config::producer_registers>();
        }
        begin<Config, true>(p);
        if(copies && threadIdx.x % 32 == 0)
        {
            wait_for_kernel_before();
            copy_operands<Config>(p, shared, walk);
        }
        if(uses_clusters<Config>(p)) { cluster_wait(); }
    }
    else
    {
        if constexpr(consumer > start) { take_registers<consumer>(); }
        begin<Config, false>(p);
        consume_tiles<Config>(p, fused, shared, warp / 4, walk);
    }
#endif
}

} // namespace ck_tile::cuda_model
