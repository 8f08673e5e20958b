// SPDX-License-Identifier: MIT
// How many parts the reduction of a weight gradient is best computed in, as measured on an H100.
// Usable without a GPU.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ck_tile/cuda_model/depthwise_plan.hpp"
#include "ck_tile/cuda_model/group_weight_plan.hpp"
#include "ck_tile/cuda_model/hopper_parts.hpp"
#include "ck_tile/cuda_model/hopper_plan.hpp"
#include "ck_tile/cuda_model/joined_groups.hpp"
#include "ck_tile/cuda_model/operand_rearrangement.hpp"
#include "ck_tile/host_model/gemm_sizes.hpp"

namespace ck_tile::cuda_model {

// Of the H100 and the H200: the same answer is given where there is no device.
inline constexpr int usual_multiprocessors = 132;
// More parts cost more to add up than they bring.
inline constexpr int most_parts = 128;

// What one of so many blocks computes, and how often that is done one after the other.
struct reduction_work
{
    std::int64_t tiles; // of the result
    std::int64_t steps; // of a tile
    int resident;       // blocks of a multiprocessor
    bool clusters;      // can add up parts
};

namespace impl {

// Adding a part in memory, in steps of its reduction: the last one takes all sums back.
inline constexpr double memory_cost = 14;

constexpr std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The time of so many parts, in steps.
constexpr double time_of(const reduction_work& w, int parts)
{
    const std::int64_t slots  = std::int64_t{usual_multiprocessors} * w.resident;
    const std::int64_t blocks = w.tiles * parts;
    const auto share          = static_cast<double>(up(w.steps, parts));
    const auto rounds         = static_cast<double>(up(blocks, slots));
    // Blocks of one multiprocessor share what it can do.
    const std::int64_t together = up(std::min(blocks, slots), usual_multiprocessors);
    const double products       = share * rounds * (.5 + .5 * static_cast<double>(together));
    if(parts == 1) { return products; }
    const bool clustered = w.clusters && parts <= most_cluster_blocks && blocks <= slots;
    return products + (clustered ? cluster_cost(parts) : memory_cost * rounds);
}

constexpr int fewest_of(const reduction_work& w)
{
    int best = 1;
    for(int parts = 2; parts <= most_parts && parts <= w.steps; ++parts)
    {
        if(time_of(w, parts) < time_of(w, best)) { best = parts; }
    }
    return best;
}

constexpr reduction_work
hopper_work_of(const hopper_plan& plan, const host_model::conv_shape& shape, int merged)
{
    const int joined          = merged == 1 ? groups_to_join(shape) : merged;
    const std::int64_t chunk  = std::min(plan.tile_n, 64);
    const std::int64_t chunks = host_model::volume(shape.filter) * up(shape.C * joined, chunk);
    const std::int64_t rows   = up(shape.K * joined, plan.tile_m);
    return {rows * up(chunks, up(plan.tile_n, 64)) * up(shape.G, joined),
            up(shape.N * host_model::volume(shape.output), hopper_k),
            plan.resident,
            !plan.turns && !plan.transposed};
}

} // namespace impl

inline std::int64_t choose_parts(const host_model::kernel_facts& facts,
                                 const host_model::conv_shape& shape,
                                 const host_model::gemm_sizes& gemm)
{
    const instance_values values = values_of(facts, 1);
    const tile_values& tile      = values.tile;
    if(has_depthwise_kernel(direction::backward_weight, shape, tile.ab_type, tile.e_type))
    {
        return 1;
    }
    if(is_group_weight_tile(tile.m, tile.n) && has_group_weight_kernel(tile.ab_type, tile.e_type) &&
       is_group_weight(shape))
    {
        const std::int64_t chunks = impl::up(shape.G * shape.C, group_chunk);
        return std::max<std::int64_t>(1, 2 * usual_multiprocessors / chunks);
    }
    const bool odd  = (shape.C * shape.G) % copied_vector != 0 || shape.C < few_channels;
    const bool of_w = CKPROF_CUDA_ENGINE_W && takes_engine_w(values) && !facts.explicit_gemm &&
                      (shape.C * groups_to_join(shape) >= few_channels || (shape.G == 1 && odd));
    if(of_w)
    {
        const operand_rearrangement plan = plan_rearrangement(direction::backward_weight, shape);
        const bool joins                 = groups_to_join(shape) > 1 || tile.merged > 1;
        return impl::fewest_of(
            impl::hopper_work_of(plan_hopper(tile, values.hopper_stages, values.turns),
                                 joins ? shape : plan.shape,
                                 tile.merged));
    }
    const std::int64_t tiles = impl::up(gemm.m, tile.m) * impl::up(gemm.n, tile.n) * gemm.batch;
    return impl::fewest_of({tiles, impl::up(gemm.k, tile.k), tile.blocks, false});
}

} // namespace ck_tile::cuda_model
