// SPDX-License-Identifier: MIT
// Weight gradients of groups with few channels, from patches: a product of a GEMM of joined groups
// would be of different groups for the most part. Here 16 channels are multiplied with the same 16,
// for all nine taps from what six loads of fragments bring. Blocks leave partial sums.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/add_parts.hpp"
#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/cuda_model/group_weight_plan.hpp"
#include "ck_tile/cuda_model/ptx.hpp"

namespace ck_tile::cuda_model {

template <host_model::data_type Type>
struct group_weight_block
{
    using element = stored_t<Type>;
    static_assert(sizeof(element) == 2);
    static constexpr int taps       = group_filter;
    static constexpr int vector     = 8; // elements of a copy
    static constexpr int step_bytes = group_step * group_position_bytes;

    // A warp's tile of each tap: two neighbours of 16x8.
    using sums = float[taps][taps][2][4];

    const group_weight_params& p;
    char* memory;
    int first_channel;

    // Where 16 bytes of a position are: units change places, so that those of eight neighbouring
    // positions are in different banks.
    __device__ __forceinline__ static int unit_at(int position, int unit)
    { return position * group_position_bytes + ((unit ^ (position & 7)) * 16); }

    __device__ __forceinline__ std::uint32_t images(int stage) const
    { return shared_address(memory) + stage * p.stage_bytes(); }
    __device__ __forceinline__ std::uint32_t gradients(int stage) const
    { return images(stage) + p.image_positions() * group_position_bytes; }

    // A part of a stage: where it is, its positions, and its rows; after these it is zero. `turn`:
    // of the warps, to bring its first row.
    struct region
    {
        std::uint32_t to;
        int positions, rows, turn;
    };

    // Rows of a tensor of that height and width, from a row and a column on; zeros outside. A warp
    // brings four positions at a time.
    __device__ __forceinline__ void bring(const region& r,
                                          const element* tensor,
                                          const int (&size)[2],
                                          int first_row,
                                          int first_column) const
    {
        constexpr int warps = group_threads / 32;
        const int warp      = static_cast<int>(threadIdx.x) / 32;
        const int lane      = static_cast<int>(threadIdx.x) % 32;
        const int unit = lane % 8, channel = first_channel + unit * vector;
        const int width = static_cast<int>(p.width.divisor), ahead = 4 * p.channels;
        for(int row = (warp + warps - r.turn % warps) % warps; row * width < r.positions;
            row += warps)
        {
            const int y      = first_row + row;
            const bool there = row < r.rows && channel < p.channels &&
                               static_cast<unsigned>(y) < static_cast<unsigned>(size[0]);
            int x            = first_column + lane / 8;
            int position     = row * width + lane / 8;
            const int end    = std::min(r.positions, (row + 1) * width);
            const element* from =
                tensor + (static_cast<std::int64_t>(y) * size[1] + x) * p.channels + channel;
            // Eight positions further, units are in the same places.
            std::uint32_t at[2] = {r.to + unit_at(position, unit),
                                   r.to + unit_at(position + 4, unit)};
            while(position < end)
            {
#pragma unroll
                for(int i = 0; i < 2; ++i)
                {
                    if(position < end)
                    {
                        copy_async<16>(at[i],
                                       from,
                                       there && static_cast<unsigned>(x) <
                                                    static_cast<unsigned>(size[1]));
                    }
                    position += 4;
                    x += 4;
                    from += ahead;
                    at[i] += 8 * group_position_bytes;
                }
            }
        }
    }

    // The image that a patch is of, and its first row there.
    struct patch_start
    { int image, row; };
    __device__ __forceinline__ patch_start find(int patch) const
    {
        const int image = p.image_parts.quotient(patch);
        return {image, p.image_parts.remainder(patch, image) * p.rows};
    }

    __device__ __forceinline__ void bring_patch(int stage, int patch) const
    {
        const patch_start at = find(patch);
        const auto image     = [&](const void* tensor, const int (&size)[2]) {
            return static_cast<const element*>(tensor) +
                   static_cast<std::int64_t>(at.image) * size[0] * size[1] * p.channels;
        };
        bring({images(stage), p.image_positions(), p.rows, 0},
              image(p.in, p.input),
              p.input,
              at.row,
              -p.pad[1]);
        bring({gradients(stage), p.gradient_positions(), p.gradient_rows(), p.rows},
              image(p.out, p.output),
              p.output,
              at.row + p.pad[0] - p.reach_h(),
              0);
    }

    // A warp multiplies one square of channels, at every third step.
    __device__ __forceinline__ static int square()
    { return static_cast<int>(threadIdx.x) / 32 % group_squares; }
    __device__ __forceinline__ static int split()
    { return static_cast<int>(threadIdx.x) / 32 / group_squares; }

    __device__ __forceinline__ void multiply(int stage, sums& sum) const
    {
        const int lane  = static_cast<int>(threadIdx.x) % 32;
        const int eight = lane % 8, second = lane / 8 % 2, third = lane / 16;
        std::uint32_t rows[taps], columns[taps];
#pragma unroll
        for(int tap = 0; tap < taps; ++tap)
        {
            const int down  = (taps - 1 - tap) * p.dilation[0] * static_cast<int>(p.width.divisor);
            const int along = tap * p.dilation[1];
            rows[tap] = gradients(stage) + unit_at(down + third * 8 + eight, square() * 2 + second);
            columns[tap] =
                images(stage) + unit_at(along + second * 8 + eight, square() * 2 + third);
        }
#pragma unroll 1
        for(int step = split(); step < p.steps; step += group_splits)
        {
            std::uint32_t a[taps][4], b[taps][4];
#pragma unroll
            for(int tap = 0; tap < taps; ++tap)
            {
                load_matrices<true>(a[tap], rows[tap] + step * step_bytes);
                load_matrices<true>(b[tap], columns[tap] + step * step_bytes);
            }
#pragma unroll
            for(int y = 0; y < taps; ++y)
#pragma unroll
                for(int x = 0; x < taps; ++x)
                {
                    cuda_model::multiply<Type>(sum[y][x][0], a[y], b[x][0], b[x][1]);
                    cuda_model::multiply<Type>(sum[y][x][1], a[y], b[x][2], b[x][3]);
                }
        }
    }

    // Adds up what the warps of a square have; the first one has the sum then.
    __device__ __forceinline__ void add_up(sums& sum) const
    {
        auto* mine     = &sum[0][0][0][0];
        auto* all      = reinterpret_cast<float*>(memory);
        const int lane = static_cast<int>(threadIdx.x) % 32;
        const auto at  = [&](int other, int i) {
            return (((other - 1) * group_squares + square()) * group_sums + i) * 32 + lane;
        };
        if(split() > 0)
        {
#pragma unroll
            for(int i = 0; i < group_sums; ++i) { all[at(split(), i)] = mine[i]; }
        }
        __syncthreads();
        if(split() > 0) { return; }
#pragma unroll
        for(int i = 0; i < group_sums; ++i)
        {
#pragma unroll
            for(int other = 1; other < group_splits; ++other) { mine[i] += all[at(other, i)]; }
        }
    }

    // Elements whose row and column are of one group.
    __device__ __forceinline__ void store(const sums& sum, float* result) const
    {
        const int lane  = static_cast<int>(threadIdx.x) % 32;
        const int first = first_channel + square() * group_square;
#pragma unroll
        for(int i = 0; i < 8; ++i)
        {
            const int row    = lane / 4 + i / 2 % 2 * 8;
            const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            const int group  = row / p.group;
            if(group != column / p.group || first + row >= p.channels) { continue; }
            float* to = result + static_cast<std::int64_t>(first + row) * (taps * taps) * p.group +
                        (column - group * p.group);
#pragma unroll
            for(int tap = 0; tap < taps * taps; ++tap)
            {
                to[tap * p.group] = sum[tap / taps][tap % taps][i / 4][i % 4];
            }
        }
    }
};

// Partial sums lie as the result does.
struct same_place
{
    __device__ __forceinline__ std::int64_t operator()(std::int64_t number) const { return number; }
};

inline parts_to_add<same_place> group_weight_parts(const group_weight_params& p)
{ return {p.partial, p.result, p.weights(), p.parts, {}}; }

// The block's part of shared memory, where stages begin.
__device__ __forceinline__ char* align_stages(char* shared)
{ return shared + (0u - shared_address(shared)) % 1024u; }

template <host_model::data_type Type>
__global__ void __launch_bounds__(group_threads, 1)
    group_weight(const __grid_constant__ group_weight_params p)
{
    extern __shared__ __align__(128) char shared[];
    using block     = group_weight_block<Type>;
    const int chunk = static_cast<int>(blockIdx.x) % p.chunks();
    const int part  = static_cast<int>(blockIdx.x) / p.chunks();
    const int end   = std::min(p.patches, (part + 1) * p.part_patches);
    let_dependents_launch();
    const block work{p, align_stages(shared), chunk * group_chunk};
    typename block::sums sum = {};

    int patch = part * p.part_patches;
    work.bring_patch(0, patch);
    commit_copies();
    for(int stage = 0; patch < end; ++patch, stage ^= 1)
    {
        if(patch + 1 < end) { work.bring_patch(stage ^ 1, patch + 1); }
        commit_copies();
        wait_copies<1>();
        __syncthreads();
        work.multiply(stage, sum);
        __syncthreads();
    }
    work.add_up(sum);
    if(block::split() == 0) { work.store(sum, p.partial + part * p.weights()); }
}

} // namespace ck_tile::cuda_model
