// SPDX-License-Identifier: MIT
// The compute pipeline with direct loads into two local-memory buffers.
#pragma once

#include "ck_tile/host_model/pipeline_model.hpp"

namespace ck_tile::host_model {

struct comp_async_description
{
    static constexpr pipeline_facts facts{
        .name = "COMPUTE_ASYNC", .class_name = "AgBgCrCompAsync", .needs = "direct_lds"};
};

} // namespace ck_tile::host_model

namespace ck_tile {

template <typename Problem>
struct BaseGemmPipelineAgBgCrCompAsync
    : host_model::alternating_tails<2, TailNumber::Three, TailNumber::Two>
{};

struct GemmPipelineAgBgCrCompAsyncDefaultPolicy;

template <typename Problem, typename Policy = GemmPipelineAgBgCrCompAsyncDefaultPolicy>
struct GemmPipelineAgBgCrCompAsync
    : BaseGemmPipelineAgBgCrCompAsync<Problem>,
      host_model::pipeline_model<Problem, host_model::comp_async_description>
{};

} // namespace ck_tile
