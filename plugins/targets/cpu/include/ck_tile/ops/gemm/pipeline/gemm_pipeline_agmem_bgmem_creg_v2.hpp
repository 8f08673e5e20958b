// SPDX-License-Identifier: MIT
// The basic pipeline with two prefetch stages.
#pragma once

#include "ck_tile/host_model/pipeline_model.hpp"

namespace ck_tile::host_model {

struct basic_v2_description
{ static constexpr pipeline_facts facts{.name = "BASIC_V2", .class_name = "AGmemBGmemCRegV2"}; };

} // namespace ck_tile::host_model

namespace ck_tile {

template <typename Problem>
struct BaseGemmPipelineAGmemBGmemCRegV2
{
    static constexpr index_t PrefetchStages = 2;

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

struct GemmPipelineAGmemBGmemCRegV2DefaultPolicy;

template <typename Problem, typename Policy = GemmPipelineAGmemBGmemCRegV2DefaultPolicy>
struct GemmPipelineAGmemBGmemCRegV2
    : BaseGemmPipelineAGmemBGmemCRegV2<Problem>,
      host_model::pipeline_model<Problem, host_model::basic_v2_description>
{};

} // namespace ck_tile
