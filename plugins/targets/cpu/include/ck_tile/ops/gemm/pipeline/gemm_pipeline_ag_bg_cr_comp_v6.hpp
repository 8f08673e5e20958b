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
    : host_model::alternating_tails<3, TailNumber::Odd, TailNumber::Even>
{};

struct GemmPipelineAgBgCrCompV6DefaultPolicy;

template <typename Problem, typename Policy = GemmPipelineAgBgCrCompV6DefaultPolicy>
struct GemmPipelineAgBgCrCompV6
    : BaseGemmPipelineAgBgCrCompV6<Problem>,
      host_model::pipeline_model<Problem, host_model::comp_v6_description>
{};

} // namespace ck_tile
