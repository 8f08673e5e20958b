// SPDX-License-Identifier: MIT
// What a backward-data kernel computes for a problem, and which problems it supports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "ck_tile/host_model/backward_data.hpp"
#include "ck_tile/host_model/impl/support.hpp"
#include "ck_tile/host_model/k_split.hpp"
#include "ck_tile/host_model/split_n.hpp"

namespace ck_tile::host_model::impl {

inline std::int64_t divide_up(std::int64_t a, std::int64_t b)
{ return saturated_sum(a, b - 1) / b; }

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API backward_data_call make_backward_data_call(const kernel_facts& facts,
                                                                  const conv_shape& shape,
                                                                  std::int64_t k_batch)
{
    using namespace impl;
    backward_data_call call{};
    call.shape   = shape;
    call.k_batch = k_batch;
    // A meaningless problem is left without GEMMs for supports_backward_data() to reject.
    if(!check_sizes(shape)) { return call; }

    call.images_per_split = images_per_split(shape);
    call.image_splits     = divide_up(shape.N, call.images_per_split);
    std::int64_t positions[3];
    for(int axis = 0; axis < 3; ++axis)
    {
        const std::int64_t stride   = shape.stride[axis];
        const std::int64_t dilation = shape.dilation[axis];
        const std::int64_t left     = shape.left_pad[axis];
        const std::int64_t g        = std::gcd(stride, dilation);
        const std::int64_t reach =
            shape.output[axis] + divide_up(dilation * (shape.filter[axis] - 1), stride);
        call.tilde[axis]        = stride / g;
        call.output_steps[axis] = dilation / g;
        call.t_begin[axis] =
            std::max<std::int64_t>(0, left - dilation * (call.tilde[axis] - 1)) / stride;
        call.t_end[axis] = std::min(reach, divide_up(left + shape.input[axis] - 1, stride) + 1);
        positions[axis]  = std::max<std::int64_t>(0, call.t_end[axis] - call.t_begin[axis]);
    }
    call.gemm.m =
        saturated_product(call.images_per_split, positions[0], positions[1], positions[2]);
    call.gemm.n     = shape.C;
    call.gemm.batch = shape.G;

    // Remainders beyond the filter have no tap.
    std::int64_t remainders[3];
    for(int axis = 0; axis < 3; ++axis)
    {
        remainders[axis] = std::min(call.tilde[axis], shape.filter[axis]);
    }
    call.gemm_count          = saturated_volume(remainders);
    const std::int64_t tiles = saturated_product(divide_up(call.gemm.m, facts.m_per_block),
                                                 divide_up(call.gemm.n, facts.n_per_block));
    if(call.gemm_count > most_backward_data_gemms)
    {
        // The first remainder has the most taps.
        call.gemm.k = saturated_product(divide_up(shape.filter[0], call.tilde[0]),
                                        divide_up(shape.filter[1], call.tilde[1]),
                                        divide_up(shape.filter[2], call.tilde[2]),
                                        shape.K);
        call.blocks = saturated_product(tiles, call.gemm_count);
        return call;
    }
    for(std::int64_t z = 0; z < remainders[0]; ++z)
    {
        for(std::int64_t y = 0; y < remainders[1]; ++y)
        {
            for(std::int64_t x = 0; x < remainders[2]; ++x)
            {
                backward_data_gemm gemm{{z, y, x}, {}, 0, call.blocks};
                for(int axis = 0; axis < 3; ++axis)
                {
                    gemm.taps[axis] =
                        divide_up(shape.filter[axis] - gemm.remainder[axis], call.tilde[axis]);
                }
                gemm.k      = saturated_product(saturated_volume(gemm.taps), shape.K);
                call.gemm.k = std::max(call.gemm.k, gemm.k);
                call.blocks =
                    std::min<std::int64_t>(saturated_sum(call.blocks, tiles), largest_index + 1);
                call.gemms.push_back(gemm);
            }
        }
    }
    return call;
}

CK_TILE_HOST_MODEL_API const backward_data_gemm& find_gemm(const backward_data_call& call,
                                                           std::int64_t block_x)
{
    std::size_t i = call.gemms.size() - 1;
    while(i > 0 && call.gemms[i].first_block > block_x) { --i; }
    return call.gemms[i];
}

CK_TILE_HOST_MODEL_API bool supports_backward_data(const kernel_facts& facts,
                                                   const backward_data_call& call)
{
    using namespace impl;
    const conv_shape& shape = call.shape;
    clear_rejection();
    if(!check_sizes(shape) || !check_strides(shape)) { return false; }
    if(call.k_batch < 1)
    {
        check_at_least("split-k", "k_batch", call.k_batch, 1);
        return false;
    }
    if(!facts.splits_reduction && call.k_batch != 1 &&
       !reject("split-k",
               equation("k_batch", call.k_batch) +
                   ": the kernel of backward data does not split K"))
    {
        return false;
    }
    if(!check_capability(facts) ||
       !check_odd_atomics(facts.vector_size_c, facts.e_type, call.k_batch))
    {
        return false;
    }
    if(call.gemm_count > most_backward_data_gemms &&
       !reject("gemm-count",
               std::to_string(call.gemm_count) + " GEMMs, a kernel takes " +
                   std::to_string(most_backward_data_gemms)))
    {
        return false;
    }
    const bool met = check_specialization(facts, shape) &&
                     check_layout("weight", facts.wei_layout, facts.wei_layout_known) &&
                     check_multiple("C", shape.C, 'B', facts.vector_size_b) &&
                     check_layout("input", facts.in_layout, facts.in_layout_known) &&
                     check_multiple("C", shape.C, 'C', facts.vector_size_c) &&
                     check_layout("output", facts.out_layout, facts.out_layout_known) &&
                     check_multiple("K", shape.K, 'A', facts.vector_size_a) &&
                     check_index("GemmM padded to the tile",
                                 saturated_sum(call.gemm.m, facts.m_per_block - 1)) &&
                     check_index("GemmN padded to the tile",
                                 saturated_sum(call.gemm.n, facts.n_per_block - 1)) &&
                     check_index("GemmK", call.gemm.k) &&
                     check_index("the number of tiles", call.blocks) &&
                     check_index("image splits times k_batch",
                                 saturated_product(call.image_splits, call.k_batch));
    all_conditions_tested();
    return met;
}

} // namespace ck_tile::host_model
