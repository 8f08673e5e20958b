// SPDX-License-Identifier: MIT
// What engine W multiplies for a tap of a patch, and the way of these sums to memory.
#pragma once

#include "ck_tile/cuda_model/hopper_image_result.hpp"
#include "ck_tile/cuda_model/hopper_patch.hpp"
#include "ck_tile/cuda_model/hopper_transposed_store.hpp"
#include "ck_tile/cuda_model/matrix_descriptor.hpp"
#include "ck_tile/cuda_model/wgmma_products.hpp"

namespace ck_tile::cuda_model {

// The weights' channels as rows and the positions as columns: that reads less shared memory than
// the other way round.
template <typename Config>
struct patch_products
{
    static constexpr bool weights_along_k = Config::b_k_major;

    using product = warpgroup_product<Config::ab_type, Config::m, !weights_along_k, false>;
    using sums    = float[1][Config::m / 2]; // of 64 channels

    struct rows_of_channels : Config
    {
        static constexpr bool transposed = true;
        static constexpr int own_blocks  = 1;
    };
    using operation = channel_operation<rows_of_channels>;

    // The products of 64 channels, of which descriptors give the first.
    __device__ __forceinline__ static void
    issue(sums& sum, std::uint64_t weights, std::uint64_t positions)
    {
#pragma unroll
        for(int k = 0; k < hopper_k / 16; ++k)
        {
            product::issue(sum[0],
                           weights + k * descriptor_k_step(weights_along_k),
                           positions + k * descriptor_k_step(true),
                           1);
        }
    }

    __device__ __forceinline__ static void store(const hopper_team<Config>& team,
                                                 const hopper_work& w,
                                                 sums& sum,
                                                 const tile_place& at,
                                                 const patch_rows& rows,
                                                 const typename Config::fused& fused,
                                                 [[maybe_unused]] const operation& channels)
    {
        constexpr int vector = result_place<Config>::vector;
        const result_place<Config> result{w.g, at, false, fused};
        const transposed_store<Config> way{team};
        if constexpr(Config::fused::exists)
        {
            if(!fused.channels_alone)
            {
                way.template store<vector>(
                    sum[0],
                    [&](int position) {
                        const int row = rows(position);
                        return row < 0 ? std::int64_t{-1} : result.row_part(row);
                    },
                    [&](int channel) { return result.column_part(channel); },
                    result.combining());
                return;
            }
            channels.template combine<Config::e_type, Config::rounding>(fused, sum, nullptr);
        }
        way.template store<vector>(
            sum[0],
            rows,
            [](int channel) { return channel; },
            [&](int row, int channel, const auto* values) {
                if(row < 0) { return; }
                const std::int64_t start  = result.row_part(row);
                const std::int64_t column = result.column_part(channel);
                if(start < 0 || column < 0) { return; }
                put_vector<vector>(w.g.result, start + column, values);
            });
    }
};

// Groups that have been joined, of at most 16 channels each: 16 output channels depend on the same
// 16 of the input alone. With positions as rows, products are no wider than that.
template <typename Config>
struct patch_group_products
{
    static constexpr int width            = 16;
    static constexpr bool weights_along_k = Config::b_k_major;

    using product = warpgroup_product<Config::ab_type, width, false, !weights_along_k>;
    using sums    = float[Config::m / 64][64 / 2]; // of 64 positions and channels

    // Joined groups lie one after the other, whatever their instance knows of one.
    struct wide : Config
    { static constexpr int vector_c = 16 / Config::e_bytes; };

    using operation = channel_operation<wide>;

    // 16 channels further in both directions.
    static constexpr std::uint64_t step = descriptor_k_step(true) + descriptor_k_step(false);

    __device__ __forceinline__ static void
    issue(sums& sum, std::uint64_t weights, std::uint64_t positions)
    {
#pragma unroll
        for(int k = 0; k < hopper_k / width; ++k)
#pragma unroll
            for(int i = 0; i < Config::m / 64; ++i)
            {
                product::issue(reinterpret_cast<float (&)[width / 2]>(sum[i][k * (width / 2)]),
                               positions + i * descriptor_chunk_step + k * descriptor_k_step(true),
                               weights + k * step,
                               1);
            }
    }

    __device__ __forceinline__ static void store(const hopper_team<Config>& team,
                                                 const hopper_work& w,
                                                 sums& sum,
                                                 const tile_place& at,
                                                 const patch_rows& rows,
                                                 const typename Config::fused& fused,
                                                 const operation& channels)
    {
        const hopper_store<wide> way{{team.staging, team.warpgroup}};
        const image_result<wide, patch_rows> result{way, w.g, at, rows, 0, fused};
        if(!result.combine(sum, every_column{}, channels)) { result.store(sum, every_column{}); }
    }
};

} // namespace ck_tile::cuda_model
