// SPDX-License-Identifier: MIT
// The compute pipelines whose tiles the tensor data mover brings into two local-memory buffers.
#pragma once

#include "ck_tile/host_model/pipeline_model.hpp"

namespace ck_tile::host_model {

struct comp_tdm_v1_description
{
    static constexpr pipeline_facts facts{
        .name = "COMPUTE_TDM_V1", .class_name = "AgBgCrCompTDMV1", .needs = "tensor_data_mover"};
};

struct comp_tdm_v2_description
{
    static constexpr pipeline_facts facts{
        .name = "COMPUTE_TDM_V2", .class_name = "AgBgCrCompTDMV2", .needs = "tensor_data_mover"};
};

} // namespace ck_tile::host_model

namespace ck_tile {

template <typename Problem>
struct BaseGemmPipelineAgBgCrCompTDM
    : host_model::alternating_tails<2, TailNumber::One, TailNumber::Two>
{};

struct GemmPipelineAgBgCrCompTDMDefaultPolicy;

template <typename Problem, typename Policy = GemmPipelineAgBgCrCompTDMDefaultPolicy>
struct GemmPipelineAgBgCrCompTDMV1
    : BaseGemmPipelineAgBgCrCompTDM<Problem>,
      host_model::pipeline_model<Problem, host_model::comp_tdm_v1_description>
{};

template <typename Problem, typename Policy = GemmPipelineAgBgCrCompTDMDefaultPolicy>
struct GemmPipelineAgBgCrCompTDMV2
    : BaseGemmPipelineAgBgCrCompTDM<Problem>,
      host_model::pipeline_model<Problem, host_model::comp_tdm_v2_description>
{};

} // namespace ck_tile
