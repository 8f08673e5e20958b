// SPDX-License-Identifier: MIT
// What the consumers of engine W have in common: sums in registers, the order in which those that
// have tiles of their own multiply, and threads that share a tile.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ck_tile/cuda_model/hopper_ptx.hpp"

namespace ck_tile::cuda_model {

// Keeps the compiler from moving uses of the accumulators across this place.
template <typename Sum, int Blocks, int Registers>
__device__ __forceinline__ void pin_sums(Sum (&sums)[Blocks][Registers])
{
#pragma unroll
    for(auto& block : sums)
#pragma unroll
        for(Sum& one : block)
        {
            if constexpr(std::is_same_v<Sum, int>) { asm volatile("" : "+r"(one)::"memory"); }
            else
            {
                asm volatile("" : "+f"(one)::"memory");
            }
        }
}

template <typename Sum, int Blocks, int Registers>
__device__ __forceinline__ void clear_sums(Sum (&sums)[Blocks][Registers])
{
#pragma unroll
    for(auto& block : sums)
#pragma unroll
        for(Sum& one : block) { one = 0; }
    pin_sums(sums);
}

// Consumers that take turns multiply one after the other: a barrier tells neighbouring turns of the
// ring apart, not more.
template <bool Turns>
struct hopper_turns
{
    std::uint32_t order; // a barrier per warpgroup
    int warpgroup;
    std::uint32_t own_tiles = 0;

    __device__ __forceinline__ void begin()
    {
        if constexpr(Turns)
        {
            barrier_wait(order + 8 * warpgroup, (own_tiles & 1u) ^ (warpgroup == 0 ? 1u : 0u));
            ++own_tiles;
        }
    }

    __device__ __forceinline__ void end() const
    {
        if constexpr(Turns)
        {
            if(threadIdx.x % 32 == 0) { barrier_arrive(order + 8 * (1 - warpgroup)); }
        }
    }
};

// One arrival per warp: the stage of that barrier may be filled again.
__device__ __forceinline__ void release_stage(std::uint32_t barrier)
{
    if(threadIdx.x % 32 == 0) { barrier_arrive(barrier); }
}

// The threads that share a tile.
template <typename Config>
struct hopper_team
{
    char* staging; // of all warps of the block
    int warpgroup;

    static constexpr int threads = Config::turns ? 128 : Config::warpgroups * 128;

    // The first of them.
    __device__ __forceinline__ int lead() const { return Config::turns ? warpgroup * 128 : 0; }

    __device__ __forceinline__ void meet() const
    {
        asm volatile("bar.sync %0, %1;" ::"r"(Config::turns ? 1 + warpgroup : 1), "n"(threads)
                     : "memory");
    }

    // The threads of one warpgroup alone; not to be mixed with meet() where these are others.
    __device__ __forceinline__ void meet_warpgroup() const
    { asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup) : "memory"); }

    // Whether all other parts of the tile have been added before this one; then the counter starts
    // anew. Orders the additions of all threads before what follows.
    __device__ __forceinline__ bool arrives_last(unsigned* arrived, int parts) const
    {
        __threadfence();
        meet();
        auto* last =
            reinterpret_cast<unsigned*>(staging + lead() / 32 * 16 * Config::staging_line_bytes);
        if(static_cast<int>(threadIdx.x) == lead())
        {
            *last = atomicAdd(arrived, 1u) + 1 == static_cast<unsigned>(parts);
            if(*last != 0) { *arrived = 0; }
            __threadfence();
        }
        meet();
        const bool answer = *last != 0;
        meet();
        return answer;
    }
};

} // namespace ck_tile::cuda_model
