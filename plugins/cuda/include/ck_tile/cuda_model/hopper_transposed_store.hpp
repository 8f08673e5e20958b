// SPDX-License-Identifier: MIT
// The way to memory of sums whose rows are channels and whose columns are positions: a warpgroup
// turns them over on the way through shared memory.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/hopper_store.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
struct transposed_store : hopper_team<Config>
{
    using hopper_team<Config>::staging, hopper_team<Config>::warpgroup;

    using plain   = hopper_store<Config>;
    using element = typename plain::element;

    static constexpr int positions = Config::staged_columns;     // at a time
    static constexpr int line      = Config::staging_line_bytes; // 64 channels of one position

    // The warp's 16 channels; a lane's four sums are two neighbouring positions of channel lane/4,
    // then of channel lane/4 + 8.
    __device__ __forceinline__ void stage(const float* sums, char* lines) const
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        if constexpr(sizeof(element) == 2)
        {
            const int matrix       = lane / 8; // channels 0-7 and 8-15, then the next 8 positions
            const std::uint32_t to = shared_address(lines) + (lane % 8 + matrix / 2 * 8) * line +
                                     (warp * 16 + matrix % 2 * 8) * 2;
#pragma unroll
            for(int j = 0; j < positions / 8; j += 2)
            {
                const float* sum = sums + j * 4;
                store_matrices<true>(to + j * 8 * line,
                                     plain::narrow_pair(sum[0], sum[1]),
                                     plain::narrow_pair(sum[2], sum[3]),
                                     plain::narrow_pair(sum[4], sum[5]),
                                     plain::narrow_pair(sum[6], sum[7]));
            }
        }
        else
        {
            static_assert(sizeof(element) == sizeof(float));
            char* to = lines + lane % 4 * 2 * line + (warp * 16 + lane / 4) * 4;
#pragma unroll
            for(int i = 0; i < positions / 2; ++i)
            {
                const int position = i / 4 * 8 + i % 2, channel = i / 2 % 2 * 8;
                memcpy(
                    __builtin_assume_aligned(to + position * line + channel * 4, 4), sums + i, 4);
            }
        }
    }

    // Calls put(position, channel, values) for vectors of the 64 channels of a block; what it is
    // told of them is what position_part(number) and channel_part(number) have said. See
    // put_rounds() for one that combines.
    template <int Vector, int Registers, typename Position, typename Channel, typename Put>
    __device__ __forceinline__ void store(const float (&sums)[Registers],
                                          const Position& position_part,
                                          const Channel& channel_part,
                                          const Put& put) const
    {
        constexpr int pieces = 64 / Vector; // of a line
        constexpr int rounds = positions * pieces / 128;
        const int thread     = threadIdx.x % 128;
        char* lines          = staging + warpgroup * positions * line;
#pragma unroll
        for(int chunk = 0; chunk < Registers * 2 / positions; ++chunk)
        {
            if constexpr(combining<Put>)
            {
                const int channel = thread % pieces * Vector;
                static_assert(128 % pieces == 0);
                put_rounds<rounds, true>(
                    put,
                    [&](int round) {
                        return position_part(chunk * positions + (thread + round * 128) / pieces);
                    },
                    [&](int) { return channel_part(channel); },
                    [&](int round) {
                        return reinterpret_cast<const element*>(lines + (thread + round * 128) /
                                                                            pieces * line) +
                               channel;
                    },
                    [&] {
                        stage(sums + chunk * (positions / 2), lines);
                        this->meet_warpgroup();
                    });
                this->meet_warpgroup();
            }
            else
            {
                stage(sums + chunk * (positions / 2), lines);
                this->meet_warpgroup();
#pragma unroll(rounds <= 4 ? rounds : 1)
                for(int round = 0; round < rounds; ++round)
                {
                    const int index   = thread + round * 128;
                    const int channel = index % pieces * Vector;
                    put(position_part(chunk * positions + index / pieces),
                        channel_part(channel),
                        reinterpret_cast<const element*>(lines + index / pieces * line) + channel);
                }
                this->meet_warpgroup();
            }
        }
    }
};

} // namespace ck_tile::cuda_model
