// SPDX-License-Identifier: MIT
// What a backward-weight kernel computes for a problem, and which problems it supports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/impl/automatic_split.hpp"
#include "ck_tile/host_model/impl/support.hpp"

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API int estimated_occupancy(const kernel_facts& facts)
{
    const device_model& device = current_device();
    const int tiles            = facts.k_per_block * (facts.m_per_block * size_of(facts.a_type) +
                                                      facts.n_per_block * size_of(facts.b_type));
    const int by_lds           = device.lds_bytes / (facts.double_smem_buffer ? 2 * tiles : tiles);
    const int by_waves         = device.max_waves_per_cu * device.lanes / facts.block_size;
    return std::max(1, std::min(by_lds, by_waves));
}

CK_TILE_HOST_MODEL_API backward_weight_call make_backward_weight_call(const kernel_facts& facts,
                                                                      const conv_shape& shape,
                                                                      std::int64_t k_batch)
{
    using namespace impl;
    backward_weight_call call{};
    call.shape   = shape;
    call.k_batch = std::max<std::int64_t>(k_batch, 0);
    if(!check_sizes(shape)) { return call; }
    const std::int64_t merged = facts.groups_to_merge;
    call.gemm.m               = saturated_product(shape.K, merged);
    call.gemm.n               = saturated_product(saturated_volume(shape.filter), shape.C, merged);
    call.gemm.k               = saturated_product(shape.N, saturated_volume(shape.output));
    call.gemm.batch           = shape.G / merged + (shape.G % merged != 0);
    if(k_batch < 0)
    {
        // Numbers that no index reaches are left for the support test to reject.
        const bool countable = std::max({call.gemm.m, call.gemm.n, call.gemm.k}) <= largest_index;
        call.k_batch =
            facts.stream_k || !countable ? 1 : automatic_k_batch(facts, shape, call.gemm);
    }
    return call;
}

CK_TILE_HOST_MODEL_API bool supports_backward_weight(const kernel_facts& facts,
                                                     const backward_weight_call& call)
{
    using namespace impl;
    const conv_shape& shape    = call.shape;
    const std::int64_t k_batch = call.k_batch;
    clear_rejection();
    if(!check_sizes(shape) || !check_strides(shape) || !check_capability(facts)) { return false; }
    if(facts.stream_k)
    {
        if(!current_device().has("stream_k") &&
           !reject("stream-k-device",
                   "stream-K runs on " + device_names("stream_k") + "; the device is " +
                       current_device().name))
        {
            return false;
        }
        if(k_batch != 1 &&
           !reject("split-k", equation("k_batch", k_batch) + ": stream-K does not split K"))
        {
            return false;
        }
    }
    if(k_batch < 1)
    {
        // Nothing below makes sense without.
        check_at_least("split-k", "k_batch", k_batch, 1);
        return false;
    }
    // CK Tile counts the tiles of all groups together and leaves the last groups unwritten.
    if(facts.stream_k && call.gemm.batch > 1 && call.gemm.m % facts.m_per_block != 0 &&
       !reject("stream-k-groups",
               "stream-K with several groups needs " + equation("GemmM", call.gemm.m) +
                   " to be a multiple of the tile's " + std::to_string(facts.m_per_block) +
                   " rows"))
    {
        return false;
    }
    const std::int64_t loops =
        (call.gemm.k - 1) / saturated_product(k_batch, facts.k_per_block) + 1;
    if(loops < facts.min_loops_per_split &&
       !reject("pipeline-depth",
               "the pipeline " + std::string(facts.pipeline_name) + " needs " +
                   std::to_string(facts.min_loops_per_split) + " K blocks per split, GemmK = " +
                   std::to_string(call.gemm.k) + " gives " + std::to_string(loops)))
    {
        return false;
    }
    if(facts.bounds_splits && facts.e_type != data_type::fp32 && k_batch > 128 &&
       !reject("split-k-atomics",
               equation("k_batch", k_batch) + " is more than 128 additions in 16 bits allow"))
    {
        return false;
    }
    if(!check_odd_atomics(facts.vector_size_c, facts.e_type, k_batch)) { return false; }
    const std::int64_t steps = (call.gemm.k - 1) / facts.k_mma + 1;
    if(facts.bounds_splits && !facts.stream_k && steps < k_batch &&
       !reject("split-k",
               equation("k_batch", k_batch) + " is more than the " + std::to_string(steps) +
                   " MMA steps of GemmK = " + std::to_string(call.gemm.k)))
    {
        return false;
    }
    if(!check_specialization(facts, shape) || !check_explicit(facts) ||
       !check_layout("input", facts.in_layout, facts.in_layout_known) ||
       !check_multiple("C", shape.C, 'B', facts.vector_size_b) ||
       !check_layout("weight", facts.wei_layout, facts.wei_layout_known) ||
       !check_multiple("C", shape.C, 'C', facts.vector_size_c) ||
       !check_layout("output", facts.out_layout, facts.out_layout_known) ||
       !check_multiple("K", shape.K, 'A', facts.vector_size_a) || !check_whole_merges(facts, shape))
    {
        return false;
    }
    const bool indexable = check_index("GemmM padded to the tile",
                                       saturated_sum(call.gemm.m, facts.m_per_block - 1)) &&
                           check_index("GemmN padded to the tile",
                                       saturated_sum(call.gemm.n, facts.n_per_block - 1)) &&
                           check_index("GemmK", call.gemm.k);
    all_conditions_tested();
    return indexable;
}

} // namespace ck_tile::host_model
