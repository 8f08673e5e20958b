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
    : host_model::alternating_tails<2, TailNumber::Odd, TailNumber::Even>
{};

struct GemmPipelineAGmemBGmemCRegV2DefaultPolicy;

template <typename Problem, typename Policy = GemmPipelineAGmemBGmemCRegV2DefaultPolicy>
struct GemmPipelineAGmemBGmemCRegV2
    : BaseGemmPipelineAGmemBGmemCRegV2<Problem>,
      host_model::pipeline_model<Problem, host_model::basic_v2_description>
{};

} // namespace ck_tile
