// SPDX-License-Identifier: MIT
// The compute pipeline with two local-memory buffers.
#pragma once

#include "ck_tile/host_model/pipeline_model.hpp"

namespace ck_tile::host_model {

struct comp_v4_description
{ static constexpr pipeline_facts facts{.name = "COMPUTE_V4", .class_name = "AgBgCrCompV4"}; };

} // namespace ck_tile::host_model

namespace ck_tile {

template <typename Problem>
struct BaseGemmPipelineAgBgCrCompV4
    : host_model::alternating_tails<2, TailNumber::Three, TailNumber::Two>
{};

struct GemmPipelineAgBgCrCompV4DefaultPolicy;

template <typename Problem, typename Policy = GemmPipelineAgBgCrCompV4DefaultPolicy>
struct GemmPipelineAgBgCrCompV4
    : BaseGemmPipelineAgBgCrCompV4<Problem>,
      host_model::pipeline_model<Problem, host_model::comp_v4_description>
{};

} // namespace ck_tile
