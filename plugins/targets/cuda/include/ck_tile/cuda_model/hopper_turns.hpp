// SPDX-License-Identifier: MIT
// What the consumers of engine W have in common: sums in registers, and the order in which those
// that have tiles of their own multiply.
#pragma once

#include "ck_tile/cuda_model/hopper_ptx.hpp"

namespace ck_tile::cuda_model {

template <int Blocks, int Registers>
struct hopper_sums
{
    float value[Blocks][Registers];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for(auto& block : value)
#pragma unroll
            for(float& one : block) { one = 0; }
        pin();
    }

    // Keeps the compiler from moving uses of the accumulators across this place.
    __device__ __forceinline__ void pin()
    {
#pragma unroll
        for(auto& block : value)
#pragma unroll
            for(float& one : block) { asm volatile("" : "+f"(one)::"memory"); }
    }
};

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

} // namespace ck_tile::cuda_model
