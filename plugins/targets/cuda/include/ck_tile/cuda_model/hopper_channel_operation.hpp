// SPDX-License-Identifier: MIT
// Operations whose D tensors are of channels alone, done with engine W's sums in registers: a
// thread needs few of their elements, and what becomes of its sums takes the way of any kernel's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ck_tile/cuda_model/result.hpp"

namespace ck_tile::cuda_model {

// What the functor takes for two columns of a tile; anything where there is none.
template <typename Config>
struct channel_operands
{
    using fused = typename Config::fused;
    using pair  = typename fused::template operands<2>;

    const result_place<Config>& result;

    __device__ __forceinline__ pair of_neighbours(int tile_column) const
    {
        if constexpr(result_place<Config>::vector % 2 == 0)
        {
            const std::int64_t column = result.column_part(tile_column);
            return column < 0 ? pair{}
                              : fused::template widened<2>(
                                    result.fused.template read<2>(0, channel_of(column)));
        }
        else
        {
            return of_two(tile_column, tile_column + 1);
        }
    }

    __device__ __forceinline__ pair of_two(int first, int second) const
    {
        pair both{};
        set(both, 0, result.column_part(first));
        set(both, 1, result.column_part(second));
        return both;
    }

private:
    __device__ __forceinline__ std::int64_t channel_of(std::int64_t column) const
    { return static_cast<std::int64_t>(result.at.first_group) * result.p.out_channels + column; }

    __device__ __forceinline__ void set(pair& both, int place, std::int64_t column) const
    {
        if(column < 0) { return; }
        const auto one =
            fused::template widened<1>(result.fused.template read<1>(0, channel_of(column)));
#pragma unroll
        for(std::size_t i = 0; i < fused::count; ++i) { both.d[i][place] = one.d[i][0]; }
    }
};

// Of sums whose columns are channels: a lane's four sums are two neighbouring ones of one row, then
// of the eighth row after it.
template <typename Config, int Blocks, int Registers>
__device__ __forceinline__ void combine_columns(const result_place<Config>& result,
                                                float (&sum)[Blocks][Registers])
{
    const auto function = result.fused.in_registers();
    const channel_operands<Config> operands{result};
    const int first = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for(int j = 0; j < Registers; j += 4)
    {
        const auto read = operands.of_neighbours(j * 2 + first);
#pragma unroll
        for(int i = 0; i < Blocks; ++i)
#pragma unroll
            for(int row = 0; row < 4; row += 2)
            {
                float pair[2] = {sum[i][j + row], sum[i][j + row + 1]};
                Config::fused::template apply_in_place<Config::e_type, Config::rounding>(
                    function, pair, read);
                sum[i][j + row]     = pair[0];
                sum[i][j + row + 1] = pair[1];
            }
    }
}

// Of sums whose rows are channels, of a block of 64 of them: a lane's four sums are two positions
// of one channel, then of the eighth one after it.
template <typename Config, int Registers>
__device__ __forceinline__ void
combine_rows(const result_place<Config>& result, int first_channel, float (&sum)[Registers])
{
    const auto function = result.fused.in_registers();
    const int lane      = static_cast<int>(threadIdx.x) % 32;
    const int channel   = first_channel + static_cast<int>(threadIdx.x) / 32 % 4 * 16 + lane / 4;
    const auto read     = channel_operands<Config>{result}.of_two(channel, channel + 8);
#pragma unroll
    for(int j = 0; j < Registers; j += 4)
#pragma unroll
        for(int position = 0; position < 2; ++position)
        {
            float pair[2] = {sum[j + position], sum[j + position + 2]};
            Config::fused::template apply_in_place<Config::e_type, Config::rounding>(
                function, pair, read);
            sum[j + position]     = pair[0];
            sum[j + position + 2] = pair[1];
        }
}

} // namespace ck_tile::cuda_model
