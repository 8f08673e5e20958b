// SPDX-License-Identifier: MIT
// What the two sides of engine W share: arguments, stages, barriers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ck_tile/cuda_model/hopper_matrix_work.hpp"
#include "ck_tile/cuda_model/hopper_params.hpp"
#include "ck_tile/cuda_model/hopper_ptx.hpp"
#include "ck_tile/cuda_model/ptx.hpp"

namespace ck_tile::cuda_model {

struct hopper_params
{
    CUtensorMap a;
    CUtensorMap b;
    hopper_work work;
    bool pixels;      // windows are single pixels, and their map one of a matrix
    int image_pixels; // of one image then
};

// The same for a product of two matrices.
struct hopper_matrix_params
{
    CUtensorMap a;
    CUtensorMap b;
    matrix_work work;
};

template <typename Config>
using hopper_params_of = std::conditional_t<Config::plain, hopper_matrix_params, hopper_params>;

// The stages of shared memory as a ring: where a side stands in it.
template <int Stages>
struct ring_position
{
    int stage          = 0;
    std::uint32_t turn = 0;

    __device__ __forceinline__ void advance()
    {
        if(++stage == Stages)
        {
            stage = 0;
            turn ^= 1;
        }
    }
    __device__ __forceinline__ void advance(int count)
    {
        const int to = stage + count;
        turn ^= static_cast<std::uint32_t>(to / Stages) & 1u;
        stage = to % Stages;
    }
};

template <typename Config>
struct hopper_shared
{
    std::uint32_t stages; // aligned to 1024
    std::uint32_t full;   // a barrier per stage
    std::uint32_t empty;
    std::uint32_t order; // a barrier per warpgroup that takes turns
    // With clusters: the other blocks' operands, the sums from there, and these here are done with.
    std::uint32_t freed, received, drained;
    char* staging;

    __device__ __forceinline__ explicit hopper_shared(char* shared)
    {
        const std::uint32_t start = (shared_address(shared) + 1023u) & ~1023u;
        stages                    = start;
        staging = shared + (start - shared_address(shared)) + Config::stages * Config::stage_bytes;
        full    = shared_address(staging) + Config::staging_bytes;
        empty   = full + 8 * Config::stages;
        order   = empty + 8 * Config::stages;

        freed    = order + 2 * 8;
        received = freed + 8;
        drained  = received + 8;
    }
    __device__ __forceinline__ std::uint32_t stage(int i) const
    { return stages + i * Config::stage_bytes; }

    // By one thread, for clusters of so many blocks.
    __device__ __forceinline__ void init_barriers(int cluster) const
    {
        for(int i = 0; i < 2; ++i) { barrier_init(order + 8 * i, 4); }
        for(int i = 0; i < Config::stages; ++i)
        {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, Config::turns ? 4 : 4 * Config::warpgroups);
        }
        if(cluster > 1)
        {
            barrier_init(freed, (cluster - 1) * 4 * Config::warpgroups);
            barrier_init(received, 1);
            barrier_init(drained, 4 * Config::warpgroups);
        }
        fence_barrier_inits();
    }
};

} // namespace ck_tile::cuda_model
