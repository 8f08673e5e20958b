// SPDX-License-Identifier: MIT
// The compute pipeline with register prefetch and one local-memory buffer.
#pragma once

#include "ck_tile/host_model/pipeline_model.hpp"

namespace ck_tile::host_model {

struct comp_v3_description
{ static constexpr pipeline_facts facts{.name = "COMPUTE_V3", .class_name = "AgBgCrCompV3"}; };

} // namespace ck_tile::host_model

namespace ck_tile {

template <typename Problem>
struct BaseGemmPipelineAgBgCrCompV3
{
    static constexpr index_t PrefetchStages = 2;

    static constexpr bool BlockHasHotloop(index_t num_loop) { return num_loop > PrefetchStages; }

    static constexpr TailNumber GetBlockLoopTailNum(index_t num_loop)
    {
        if(BlockHasHotloop(num_loop)) { return TailNumber::Full; }
        return num_loop == 1 ? TailNumber::Odd : TailNumber::Even;
    }

    template <typename Run>
    static auto TailHandler(const Run& run, bool has_hot_loop, TailNumber tail)
    {
        using enum TailNumber;
        return has_hot_loop ? host_model::dispatch_tail<true, Full>(run, tail)
                            : host_model::dispatch_tail<false, Odd, Even>(run, tail);
    }
};

struct GemmPipelineAgBgCrCompV3DefaultPolicy;

template <typename Problem, typename Policy = GemmPipelineAgBgCrCompV3DefaultPolicy>
struct GemmPipelineAgBgCrCompV3
    : BaseGemmPipelineAgBgCrCompV3<Problem>,
      host_model::pipeline_model<Problem, host_model::comp_v3_description>
{};

} // namespace ck_tile
