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
        // What belongs to the only row or column of tiles is not needed again.
        if(p.work.one_row || p.work.one_column) { fill_steps<true>(place); }
        else
        {
            fill_steps<false>(place);
        }
    }

    // Once: some operand is read once, as the work says.
    template <bool Once>
    __device__ __forceinline__ void fill_steps(const hopper_tile_place& place)
    {
        const bool a_once = Once && p.work.one_column, b_once = Once && p.work.one_row;
        for(int step = place.step_begin; step < place.step_end; ++step, at.advance())
        {
            const std::uint32_t barrier = this->claim();
            const std::uint32_t a       = shared.stage(at.stage);
            const std::uint32_t b       = a + Config::a_bytes;
            const int k                 = step * Config::k_elements;
            copy<Config::a_k_major, Config::m / 64, Once>(
                a, p.a, barrier, a_once, k, place.at.first_row, place);
            copy<Config::b_k_major, Config::column_chunks, Once>(
                b, p.b, barrier, b_once, k, place.at.first_column, place);
        }
    }

    // A part of an operand; where K is not contiguous, in chunks of 64 rows or columns.
    template <bool KMajor, int Chunks, bool Once>
    __device__ __forceinline__ static void copy(std::uint32_t to,
                                                const CUtensorMap& map,
                                                std::uint32_t barrier,
                                                bool once,
                                                int k,
                                                int line,
                                                const hopper_tile_place& place)
    {
        const int product = place.at.first_group;
        const auto bring  = [&](std::uint32_t destination, int c0, int c1) {
            if constexpr(Once)
            {
                if(once)
                {
                    copy_tile_once(destination, map, barrier, c0, c1, product);
                    return;
                }
            }
            copy_tile(destination, map, barrier, c0, c1, product);
        };
        if constexpr(KMajor) { bring(to, k, line); }
        else
        {
#pragma unroll
            for(int i = 0; i < Chunks; ++i)
            {
                bring(to + i * hopper_chunk_bytes, line + i * 64, k);
            }
        }
    }
};

} // namespace ck_tile::cuda_model
