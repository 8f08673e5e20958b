// SPDX-License-Identifier: MIT
// The way of a patch's sums to memory. They are computed with channels along the rows of the
// products and positions along their columns, and turned over on the way through shared memory.
#pragma once

#include "ck_tile/cuda_model/hopper_patch.hpp"
#include "ck_tile/cuda_model/hopper_store.hpp"
#include "ck_tile/cuda_model/result.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
struct hopper_patch_store
{
    using plain   = hopper_store<Config>;
    using element = typename plain::element;

    hopper_team<Config> team;
    const hopper_work& w;

    static constexpr int line = Config::staging_line_bytes; // the channels of one position

    // 64 positions of the warp's 16 channels; a lane's four sums are two neighbouring positions of
    // channel lane/4, then of channel lane/4 + 8.
    __device__ __forceinline__ void stage(const float* sums, char* lines) const
    {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        const int matrix       = lane / 8; // channels 0-7 and 8-15, then the next 8 positions
        const std::uint32_t to = shared_address(lines) + (lane % 8 + matrix / 2 * 8) * line +
                                 (warp * 16 + matrix % 2 * 8) * 2;
#pragma unroll
        for(int j = 0; j < 8; j += 2)
        {
            const float* sum = sums + j * 4;
            store_matrices<true>(to + j * 8 * line,
                                 plain::narrow_pair(sum[0], sum[1]),
                                 plain::narrow_pair(sum[2], sum[3]),
                                 plain::narrow_pair(sum[4], sum[5]),
                                 plain::narrow_pair(sum[6], sum[7]));
        }
    }

    __device__ __forceinline__ void
    store(const float (&sums)[Config::m / 2], const tile_place& at, const patch_rows& rows) const
    {
        constexpr int vector = result_place<Config>::vector;
        constexpr int pieces = 64 / vector; // of a line
        const int thread     = threadIdx.x % 128;
        char* lines          = team.staging + team.warpgroup * 64 * line;
        const result_place<Config> result{w.g, at, false};
#pragma unroll
        for(int block = 0; block < Config::m / 64; ++block)
        {
            stage(sums + block * 32, lines);
            team.meet();
#pragma unroll(vector == 8 ? 4 : 1)
            for(int round = 0; round < pieces / 2; ++round)
            {
                const int index = thread + round * 128;
                const int row   = rows(block * 64 + index / pieces);
                const int piece = index % pieces * vector;
                if(row < 0) { continue; }
                const std::int64_t start  = result.row_part(row);
                const std::int64_t column = result.column_part(piece);
                if(start < 0 || column < 0) { continue; }
                put_vector<vector>(w.g.result,
                                   start + column,
                                   reinterpret_cast<const element*>(lines + index / pieces * line) +
                                       piece);
            }
            team.meet();
        }
    }
};

} // namespace ck_tile::cuda_model
