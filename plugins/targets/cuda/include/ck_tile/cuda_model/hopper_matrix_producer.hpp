// SPDX-License-Identifier: MIT
// The side of engine W that copies two matrices into shared memory.
#pragma once

#include "ck_tile/cuda_model/hopper_producer.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
struct matrix_producer : hopper_ring<Config>
{
    using hopper_ring<Config>::p, hopper_ring<Config>::shared, hopper_ring<Config>::at;

    __device__ __forceinline__ void fill(const hopper_tile_place& place)
    {
        // What belongs to one row or column of tiles alone is not needed again.
        const std::uint64_t keep_a = cache_policy(p.work.one_column);
        const std::uint64_t keep_b = cache_policy(p.work.one_row);
        for(int step = place.step_begin; step < place.step_end; ++step, at.advance())
        {
            const std::uint32_t barrier = this->claim();
            const std::uint32_t a       = shared.stage(at.stage);
            const std::uint32_t b       = a + Config::a_bytes;
            const int k                 = step * Config::k_elements;
            const int product           = place.at.first_group;
            copy<Config::a_k_major, Config::m / 64>(
                a, p.a, barrier, keep_a, k, place.at.first_row, product);
            copy<Config::b_k_major, Config::column_chunks>(
                b, p.b, barrier, keep_b, k, place.at.first_column, product);
        }
    }

    // A part of an operand; where K is not contiguous, in chunks of 64 rows or columns.
    template <bool KMajor, int Chunks>
    __device__ __forceinline__ static void copy(std::uint32_t to,
                                                const CUtensorMap& map,
                                                std::uint32_t barrier,
                                                std::uint64_t policy,
                                                int k,
                                                int line,
                                                int product)
    {
        if constexpr(KMajor) { copy_tile(to, map, barrier, policy, k, line, product); }
        else
        {
#pragma unroll
            for(int i = 0; i < Chunks; ++i)
            {
                copy_tile(
                    to + i * hopper_chunk_bytes, map, barrier, policy, line + i * 64, k, product);
            }
        }
    }
};

} // namespace ck_tile::cuda_model
