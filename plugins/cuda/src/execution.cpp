// SPDX-License-Identifier: MIT
// Tells what executes instances on this device, by the rules that kernels are compiled by. A small
// library for the host: instances are asked about before there are kernels of theirs.
#include <cstdint>
#include <cstring>
#include <vector>

#include "ck_tile/cuda_model/depthwise_plan.hpp"
#include "ck_tile/cuda_model/group_weight_plan.hpp"
#include "ck_tile/cuda_model/hopper_plan.hpp"
#include "ck_tile/host/convolution_parameter.hpp"
#include "ckprof_abi.h"

namespace {

using namespace ck_tile;
using namespace ck_tile::cuda_model;

// Texts are spelled as in fields of instances, pipelines and schedulers as in their strings.
struct instance
{
    const char* operation;
    const char* factor; // type: that of the operands, or tf32
    const char* result;
    const char* pipeline;
    const char* scheduler;
    std::int32_t m, n, k;
    std::int32_t m_waves, n_waves, k_waves;
    std::int32_t merged;
    std::int32_t blocks; // of a compute unit, as launchers ask for
    std::int32_t a_row_major, b_row_major;
    std::int32_t double_buffer;
    std::int32_t stream_k, explicit_gemm;
};

struct execution
{
    std::int32_t engine_w;
    std::int32_t turns;
    std::int32_t m, n, k;
    std::int32_t stages;
    std::int32_t blocks; // resident on a multiprocessor
};

// Of two encodings the first one: that of the device that is modelled by default.
data_type type_of(const char* name)
{
    for(int i = 0; i <= static_cast<int>(data_type::tf32); ++i)
    {
        const auto type = static_cast<data_type>(i);
        if(std::strcmp(host_model::name_of(type), name) == 0) { return type; }
    }
    return data_type::fp32;
}

direction direction_of(const char* operation)
{
    return std::strcmp(operation, "fwd") == 0        ? direction::forward
           : std::strcmp(operation, "bwd_data") == 0 ? direction::backward_data
                                                     : direction::backward_weight;
}

template <typename Facts>
Facts facts_of(const instance& asked)
{
    Facts facts{};
    facts.m_per_block = asked.m, facts.n_per_block = asked.n, facts.k_per_block = asked.k;
    facts.m_waves = asked.m_waves, facts.n_waves = asked.n_waves, facts.k_waves = asked.k_waves;
    facts.a_type = facts.b_type = type_of(asked.factor);
    facts.e_type                = type_of(asked.result);
    facts.scheduler             = asked.scheduler;
    return facts;
}

instance_values values_of_instance(const instance& asked)
{
    if(std::strcmp(asked.operation, "gemm") == 0)
    {
        auto facts        = facts_of<host_model::plain_gemm_facts>(asked);
        facts.a_row_major = asked.a_row_major != 0;
        facts.b_row_major = asked.b_row_major != 0;
        return values_of(facts, asked.pipeline, asked.double_buffer != 0, asked.blocks);
    }
    auto facts               = facts_of<host_model::kernel_facts>(asked);
    facts.direction          = direction_of(asked.operation);
    facts.groups_to_merge    = asked.merged;
    facts.pipeline_name      = asked.pipeline;
    facts.double_smem_buffer = asked.double_buffer != 0;
    return values_of(facts, asked.blocks);
}

host_model::conv_shape shape_of(const ckprof_problem& p)
{
    const auto lengths = [&](const std::int64_t* values) {
        return std::vector<long_index_t>(values, values + p.ndim);
    };
    return host_model::make_conv_shape(conv::ConvParam(p.ndim,
                                                       p.groups,
                                                       p.batch,
                                                       p.out_channels,
                                                       p.in_channels,
                                                       lengths(p.filter),
                                                       lengths(p.input),
                                                       lengths(p.strides),
                                                       lengths(p.dilations),
                                                       lengths(p.left_pads),
                                                       lengths(p.right_pads)));
}

} // namespace

extern "C" void ckprof_cuda_execution(const instance* asked, execution* answer)
{
    const instance_values values = values_of_instance(*asked);
    const tile_values& tile      = values.tile;
    if(asked->stream_k != 0 || asked->explicit_gemm != 0 || !takes_engine_w(values))
    {
        *answer = {0, 0, tile.m, tile.n, tile.k, tile.stages, tile.blocks};
        return;
    }
    const hopper_plan plan = plan_hopper(tile, values.hopper_stages, values.turns);
    const int k            = hopper_row_bytes / host_model::size_of(tile.ab_type);
    *answer = {1, plan.turns, plan.tile_m, plan.tile_n, k, plan.stages, plan.resident};
}

// What computes a problem of a convolution in place of an instance's kernel; empty if nothing does.
extern "C" const char* ckprof_cuda_substitute(const instance* asked, const ckprof_problem* problem)
{
    if(asked->stream_k != 0) { return ""; }
    const tile_values tile             = values_of_instance(*asked).tile;
    const host_model::conv_shape shape = shape_of(*problem);
    if(has_depthwise_kernel(direction_of(asked->operation), shape, tile.ab_type, tile.e_type))
    {
        return "a kernel for groups of one channel";
    }
    // The runtime keeps 1 KiB of a block's shared memory.
    const bool few = tile.weight && is_group_weight_tile(tile.m, tile.n) &&
                     has_group_weight_kernel(tile.ab_type, tile.e_type) && is_group_weight(shape) &&
                     make_group_weight_params(shape, 1, CKPROF_CUDA_SHARED_BYTES - 1024).rows > 0;
    return few ? "a kernel for groups of few channels" : "";
}
