// SPDX-License-Identifier: MIT
// The compute pipeline with three prefetch stages; a split needs one K block more than that.
#pragma once

#include "ck_tile/host_model/pipeline_model.hpp"

namespace ck_tile::host_model {

struct comp_v6_description
{
    static constexpr pipeline_facts facts{
        .name = "COMPUTE_V6", .class_name = "AgBgCrCompV6", .min_loops_per_split = 4};
};

} // namespace ck_tile::host_model

namespace ck_tile {

template <typename Problem>
struct BaseGemmPipelineAgBgCrCompV6
{
    static constexpr index_t PrefetchStages = 3;

    static constexpr bool BlockHasHotloop(index_t num_loop) { return num_loop > PrefetchStages; }

    static constexpr TailNumber GetBlockLoopTailNum(index_t num_loop)
    { return num_loop % 2 == 1 ? TailNumber::Odd : TailNumber::Even; }

    template <typename Run>
    static auto TailHandler(const Run& run, bool has_hot_loop, TailNumber tail)
    {
        using enum TailNumber;
        return has_hot_loop ? host_model::dispatch_tail<true, Odd, Even>(run, tail)
                            : host_model::dispatch_tail<false, Odd, Even>(run, tail);
    }
};

struct GemmPipelineAgBgCrCompV6DefaultPolicy;

template <typename Problem, typename Policy = GemmPipelineAgBgCrCompV6DefaultPolicy>
struct GemmPipelineAgBgCrCompV6
    : BaseGemmPipelineAgBgCrCompV6<Problem>,
      host_model::pipeline_model<Problem, host_model::comp_v6_description>
{};

} // namespace ck_tile
