// SPDX-License-Identifier: MIT
// Weight gradients of groups with few channels where there is a tensor copy engine: it brings
// patches as boxes while warps multiply.
#pragma once

#include "ck_tile/cuda_model/group_weight.hpp"
#include "ck_tile/cuda_model/hopper_ptx.hpp"

namespace ck_tile::cuda_model {

struct group_weight_boxes
{ CUtensorMap images, gradients; };

// Whether a box can be that large.
inline bool has_group_boxes(const group_weight_params& p)
{ return p.width.divisor <= 256 && p.gradient_rows() <= 256; }

template <host_model::data_type Type>
struct group_weight_copies
{
    const group_weight_block<Type>& work;
    const group_weight_boxes& boxes;
    std::uint32_t full; // a barrier per stage, after all of them

    __device__ __forceinline__ const group_weight_params& plan() const { return work.p; }

    // By one thread.
    __device__ __forceinline__ void bring_patch(int stage, int patch) const
    {
        const group_weight_params& p = plan();
        const auto at                = work.find(patch);
        const std::uint32_t barrier  = full + 8 * stage;
        const int positions = (p.rows + p.gradient_rows()) * static_cast<int>(p.width.divisor);
        barrier_expect(barrier, positions * group_position_bytes);
        copy_tile(work.images(stage),
                  boxes.images,
                  barrier,
                  work.first_channel,
                  -p.pad[1],
                  at.row,
                  at.image);
        copy_tile(work.gradients(stage),
                  boxes.gradients,
                  barrier,
                  work.first_channel,
                  0,
                  at.row + p.pad[0] - p.reach_h(),
                  at.image);
    }

    // Boxes end where the last row of a patch ends. What is after them must be numbers.
    __device__ __forceinline__ void clear_rest() const
    {
        const group_weight_params& p = plan();
        const int width              = static_cast<int>(p.width.divisor);
        for(int stage = 0; stage < group_stages; ++stage)
        {
            clear(work.images(stage), p.rows * width, p.image_positions());
            clear(work.gradients(stage), p.gradient_rows() * width, p.gradient_positions());
        }
    }

private:
    __device__ __forceinline__ static void clear(std::uint32_t from, int first, int end)
    {
        for(int i = first * (group_position_bytes / 4) + static_cast<int>(threadIdx.x);
            i < end * (group_position_bytes / 4);
            i += group_threads)
        {
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(from + i * 4), "r"(0) : "memory");
        }
    }
};

template <host_model::data_type Type>
__global__ void __launch_bounds__(group_threads, 1)
    hopper_group_weight(const __grid_constant__ group_weight_params p,
                        const __grid_constant__ group_weight_boxes boxes)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
    extern __shared__ __align__(128) char shared[];
    using block     = group_weight_block<Type>;
    const int chunk = static_cast<int>(blockIdx.x) % p.chunks();
    const int part  = static_cast<int>(blockIdx.x) / p.chunks();
    const int end   = std::min(p.patches, (part + 1) * p.part_patches);
    let_dependents_launch();
    const block work{p, align_stages(shared), chunk * group_chunk};
    const group_weight_copies<Type> copies{work, boxes, work.images(group_stages)};
    typename block::sums sum = {};

    int patch        = part * p.part_patches;
    const bool leads = threadIdx.x == 0;
    if(leads)
    {
        for(int stage = 0; stage < group_stages; ++stage)
        {
            barrier_init(copies.full + 8 * stage, 1);
        }
        fence_barrier_inits();
        for(int stage = 0; stage < group_stages && patch + stage < end; ++stage)
        {
            copies.bring_patch(stage, patch + stage);
        }
    }
    copies.clear_rest();
    __syncthreads();
    for(std::uint32_t turn = 0; patch < end; turn ^= 1u)
    {
#pragma unroll 1
        for(int stage = 0; stage < group_stages && patch < end; ++stage, ++patch)
        {
            barrier_wait(copies.full + 8 * stage, turn);
            work.multiply(stage, sum);
            __syncthreads();
            if(leads && patch + group_stages < end)
            {
                copies.bring_patch(stage, patch + group_stages);
            }
        }
    }
    work.add_up(sum);
    if(block::split() == 0) { work.store(sum, p.partial + part * p.weights()); }
#endif
}

} // namespace ck_tile::cuda_model
