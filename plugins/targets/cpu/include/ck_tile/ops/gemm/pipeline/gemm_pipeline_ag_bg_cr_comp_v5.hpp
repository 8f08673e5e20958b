// SPDX-License-Identifier: MIT
// The compute pipeline of two wave groups that take turns along K, each with its accumulator.
#pragma once

#include "ck_tile/host_model/pipeline_model.hpp"

namespace ck_tile::host_model {

struct comp_v5_description
{
    static constexpr pipeline_facts facts{
        .name = "COMPUTE_V5", .class_name = "AgBgCrCompV5", .accumulators = 2};
};

} // namespace ck_tile::host_model

namespace ck_tile {

template <typename Problem>
struct BaseGemmPipelineAgBgCrCompV5
{
    static constexpr index_t PrefetchStages = 1;

    static constexpr bool BlockHasHotloop(index_t) { return true; }

    static constexpr TailNumber GetBlockLoopTailNum(index_t) { return TailNumber::Empty; }

    template <typename Run>
    static auto TailHandler(const Run& run, bool, TailNumber)
    { return run(true_type{}, host_model::tail_constant<TailNumber::Empty>{}); }
};

struct GemmPipelineAgBgCrCompV5DefaultPolicy;

template <typename Problem, typename Policy = GemmPipelineAgBgCrCompV5DefaultPolicy>
struct GemmPipelineAgBgCrCompV5
    : BaseGemmPipelineAgBgCrCompV5<Problem>,
      host_model::pipeline_model<Problem, host_model::comp_v5_description>
{};

} // namespace ck_tile
