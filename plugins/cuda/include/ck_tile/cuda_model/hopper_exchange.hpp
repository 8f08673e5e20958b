// SPDX-License-Identifier: MIT
// How the parts of K of one tile add up in engine W: among the blocks of a cluster through their
// shared memory, or in memory.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/hopper_parts.hpp"
#include "ck_tile/cuda_model/hopper_shared.hpp"
#include "ck_tile/cuda_model/hopper_turns.hpp"

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

// The sums of one warpgroup.
template <typename Config, typename Sum>
struct hopper_exchange
{
    static constexpr int blocks = Config::own_blocks;
    static constexpr int groups = Config::n / 8;
    static constexpr int team   = hopper_team<Config>::threads;

    using sums   = Sum[blocks][Config::n / 2];
    using shares = cluster_shares<Config::m, Config::n>;

    const part_sums& parts;
    const hopper_shared<Config>& shared;
    int warpgroup;
    int rows; // of the tile that exist, from the first one of this warp on

    // Warps whose rows are all after the end leave them out.
    __device__ __forceinline__ bool has_rows(int block) const { return rows > block * 64; }

    // Adds one part of K to the sums of its tile, which lie in the order of the threads' registers.
    // Returns whether it was the last part: then the registers hold the sum of all, and the memory
    // zeros. Needed: which of the warp's pieces of 16 rows and 8 columns are part of the result.
    __device__ __forceinline__ bool collect(sums& sum, int tile, std::uint64_t needed) const
    {
        const hopper_team<Config> members{shared.staging, warpgroup};
        Sum* own = static_cast<Sum*>(parts.partial) +
                   static_cast<std::int64_t>(tile) * (Config::m * Config::n) +
                   (static_cast<int>(threadIdx.x) - members.lead()) * 4;
#pragma unroll
        for(int i = 0; i < blocks; ++i)
        {
            if(!has_rows(i)) { continue; }
#pragma unroll
            for(int j = 0; j < groups; ++j)
            {
                if(!is_set(needed, i, j)) { continue; }
                add_four(own + (i * groups + j) * (team * 4), sum[i] + j * 4);
            }
        }
        if(!members.arrives_last(parts.arrived + tile, parts.parts)) { return false; }
#pragma unroll
        for(int i = 0; i < blocks; ++i)
        {
            if(!has_rows(i)) { continue; }
#pragma unroll
            for(int j = 0; j < groups; ++j)
            {
                if(!is_set(needed, i, j)) { continue; }
                take_four(own + (i * groups + j) * (team * 4), sum[i] + j * 4);
            }
        }
        return true;
    }

    // A bit for each piece of a warp: blocks of 64 rows, and their groups of 8 columns.
    static_assert(blocks * groups <= 64);
    __device__ __forceinline__ static bool is_set(std::uint64_t needed, int block, int group)
    { return needed >> (block * groups + group) & 1u; }

    // Gives the sums of all columns to the blocks of the cluster that own them, and gets those of
    // its own, which it returns. They arrive where operands were: all blocks have multiplied by
    // then, and the copying warp waits until they are read. `turn` flips from tile to tile.
    __device__ __forceinline__ column_range exchange(sums& sum,
                                                     int rows_of_tile,
                                                     std::uint32_t turn) const
    {
        const int count = parts.cluster, rank = cluster_rank();
        const int lane = threadIdx.x % 32;
        __syncwarp();
        if(lane < count && lane != rank) { arrive_at_peer(in_peer(shared.freed, lane)); }
        if(threadIdx.x == 0)
        {
            barrier_expect(shared.received, shares::bytes(count, rank, rows_of_tile));
        }
        if(has_rows(0))
        {
            wait_for_peers(shared.freed, turn);
            send(sum, count, rank);
            wait_for_peers(shared.received, turn);
            receive(sum, count, rank);
        }
        fence_before_copies();
        __syncwarp();
        if(lane == 0) { barrier_arrive(shared.drained); }
        return shares::columns(count, rank);
    }

    // The four sums of a group of columns and a block of rows, in the order of threads.
    __device__ __forceinline__ static int four_of(int group, int block)
    { return (group * blocks + block) * (team * 16) + static_cast<int>(threadIdx.x) * 16; }

    __device__ __forceinline__ void send(const sums& sum, int count, int rank) const
    {
        int owner = 0, first = 0, end = shares::first_group(count, 1);
#pragma unroll
        for(int j = 0; j < groups; ++j)
        {
            // Of few columns, some blocks own none.
            while(j == end)
            {
                ++owner;
                first = end;
                end   = shares::first_group(count, owner + 1);
            }
            if(owner == rank) { continue; }
            const std::uint32_t barrier = in_peer(shared.received, owner);
            const std::uint32_t to =
                in_peer(shared.stages + shares::place_of(count, rank, owner), owner);
#pragma unroll
            for(int i = 0; i < blocks; ++i)
            {
                if(has_rows(i)) { send_four(to + four_of(j - first, i), sum[i] + j * 4, barrier); }
            }
        }
    }

    __device__ __forceinline__ void receive(sums& sum, int count, int rank) const
    {
        const int first = shares::first_group(count, rank);
        const int end   = shares::first_group(count, rank + 1);
#pragma unroll
        for(int j = 0; j < groups; ++j)
        {
            if(j < first || j >= end) { continue; }
#pragma unroll 1
            for(int sender = 0; sender < count - 1; ++sender)
            {
                const std::uint32_t from =
                    shared.stages + sender * shares::most_groups(count) * shares::group_bytes;
#pragma unroll
                for(int i = 0; i < blocks; ++i)
                {
                    if(has_rows(i))
                    {
                        add_from_shared(from + four_of(j - first, i), sum[i] + j * 4);
                    }
                }
            }
        }
    }
};

} // namespace ck_tile::cuda_model
