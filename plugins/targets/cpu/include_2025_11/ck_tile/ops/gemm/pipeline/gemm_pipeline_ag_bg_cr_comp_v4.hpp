// SPDX-License-Identifier: MIT
// The compute pipeline with two LDS buffers, whose loop of a single block has an end of its own.
#pragma once

#include "ck_tile/host_model/pipeline_model.hpp"

namespace ck_tile::host_model {

struct comp_v4_description
{ static constexpr pipeline_facts facts{.name = "COMPUTE_V4", .class_name = "AgBgCrCompV4"}; };

} // namespace ck_tile::host_model

namespace ck_tile {

template <typename Problem>
struct BaseGemmPipelineAgBgCrCompV4
{
    static constexpr index_t PrefetchStages = 2;

    static constexpr bool BlockHasHotloop(index_t num_loop) { return num_loop > PrefetchStages; }

    static constexpr TailNumber GetBlockLoopTailNum(index_t num_loop)
    {
        if(num_loop == 1) { return TailNumber::One; }
        return num_loop % 2 == 1 ? TailNumber::Three : TailNumber::Two;
    }

    template <typename Run>
    static auto TailHandler(const Run& run, bool has_hot_loop, TailNumber tail)
    {
        using enum TailNumber;
        return has_hot_loop ? host_model::dispatch_tail<true, Three, Two>(run, tail)
                            : host_model::dispatch_tail<false, Three, Two, One>(run, tail);
    }
};

template <typename Problem, typename Policy = void>
struct GemmPipelineAgBgCrCompV4
    : BaseGemmPipelineAgBgCrCompV4<Problem>,
      host_model::pipeline_model<Problem, host_model::comp_v4_description>
{};

} // namespace ck_tile
