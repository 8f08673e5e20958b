// SPDX-License-Identifier: MIT
// The basic pipelines with one prefetch stage: through registers, or directly into local memory.
#pragma once

#include "ck_tile/host_model/pipeline_model.hpp"

namespace ck_tile::host_model {

struct basic_v1_description
{
    static constexpr pipeline_facts facts{
        .name = "BASIC_V1", .class_name = "AGmemBGmemCRegV1", .basic = true};
};

struct basic_async_v1_description
{
    static constexpr pipeline_facts facts{
        .name = "BASIC_ASYNC_V1", .class_name = "AGmemBGmemCRegAsyncV1", .needs = "direct_lds"};
};

} // namespace ck_tile::host_model

namespace ck_tile {

template <typename Problem>
struct BaseGemmPipelineAGmemBGmemCRegV1
{
    static constexpr index_t PrefetchStages = 1;

    static constexpr bool BlockHasHotloop(index_t num_loop) { return num_loop > PrefetchStages; }

    static constexpr TailNumber GetBlockLoopTailNum(index_t) { return TailNumber::Empty; }

    // The launcher's callable takes the hot-loop constant only.
    template <typename Run>
    static auto TailHandler(const Run& run, bool has_hot_loop)
    { return has_hot_loop ? run(true_type{}) : run(false_type{}); }
};

struct GemmPipelineAGmemBGmemCRegV1DefaultPolicy;

template <typename Problem, typename Policy = GemmPipelineAGmemBGmemCRegV1DefaultPolicy>
struct GemmPipelineAGmemBGmemCRegV1
    : BaseGemmPipelineAGmemBGmemCRegV1<Problem>,
      host_model::pipeline_model<Problem, host_model::basic_v1_description>
{};

template <typename Problem, typename Policy = GemmPipelineAGmemBGmemCRegV1DefaultPolicy>
struct GemmPipelineAGmemBGmemCRegAsyncV1
    : BaseGemmPipelineAGmemBGmemCRegV1<Problem>,
      host_model::pipeline_model<Problem, host_model::basic_async_v1_description>
{};

} // namespace ck_tile
