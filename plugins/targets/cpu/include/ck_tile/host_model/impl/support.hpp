// SPDX-License-Identifier: MIT
// Conditions on problems. Each returns true or rejects with a reason.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "ck_tile/host_model/device.hpp"
#include "ck_tile/host_model/forward.hpp"
#include "ck_tile/host_model/rejection.hpp"

namespace ck_tile::host_model::impl {

inline constexpr std::int64_t largest_index = std::numeric_limits<std::int32_t>::max();

// Product of non-negative factors; stays at the largest value instead of overflowing.
template <typename... Factors>
constexpr std::int64_t saturated_product(Factors... factors)
{
    std::int64_t result = 1;
    const auto multiply = [&result](std::int64_t factor) {
        if(__builtin_mul_overflow(result, factor, &result))
        {
            result = std::numeric_limits<std::int64_t>::max();
        }
    };
    (multiply(factors), ...);
    return result;
}

constexpr std::int64_t saturated_volume(const std::int64_t (&lengths)[3])
{ return saturated_product(lengths[0], lengths[1], lengths[2]); }

// What is padded to whole tiles, likewise.
constexpr std::int64_t saturated_sum(std::int64_t value, std::int64_t more)
{
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    return value > most - more ? most : value + more;
}

inline std::string equation(const std::string& what, std::int64_t value)
{ return what + " = " + std::to_string(value); }

inline bool check_at_least(const char* condition,
                           const std::string& what,
                           std::int64_t value,
                           std::int64_t least)
{
    if(value >= least) { return true; }
    return reject(condition, equation(what, value) + " is less than " + std::to_string(least));
}

inline bool check_index(const std::string& what, std::int64_t value)
{
    if(value <= largest_index) { return true; }
    return reject("index-range",
                  what +
                      (value == std::numeric_limits<std::int64_t>::max()
                           ? std::string(" exceeds 64 bits")
                           : " = " + std::to_string(value)) +
                      ", more than the 32-bit indices of the kernel reach (" +
                      std::to_string(largest_index) + ")");
}

inline bool
check_multiple(const char* what, std::int64_t value, char whose_width, std::int64_t width)
{
    if(value % width == 0) { return true; }
    return reject(std::string("vector-") + static_cast<char>(whose_width - 'A' + 'a'),
                  equation(what, value) + " is not a multiple of the " + whose_width +
                      " vector width " + std::to_string(width));
}

// Axis names for messages: spatial axes by position, filter axes likewise.
inline std::string axis_name(const char* what, int axis)
{
    static constexpr const char* names[] = {"depth", "height", "width"};
    return std::string(what) + " " + names[axis];
}

// CK Tile does not test that a problem makes sense; computing one that does not would only hide it.
// The rest of a support test cannot stand such a problem, so this ends it also when all
// unmet_requirements are collected.
inline bool check_sizes(const conv_shape& shape)
{
    const std::size_t before = unmet_requirements().size();
    const auto at_least      = [](const std::string& what, std::int64_t value, std::int64_t least) {
        return check_at_least("problem", what, value, least);
    };
    if(!at_least("G", shape.G, 1) || !at_least("N", shape.N, 1) || !at_least("K", shape.K, 1) ||
       !at_least("C", shape.C, 1))
    {
        return false;
    }
    for(int axis = 0; axis < 3; ++axis)
    {
        if(!at_least(axis_name("filter", axis), shape.filter[axis], 1) ||
           !at_least(axis_name("input", axis), shape.input[axis], 1) ||
           !at_least(axis_name("stride", axis), shape.stride[axis], 1) ||
           !at_least(axis_name("dilation", axis), shape.dilation[axis], 1) ||
           !at_least(axis_name("left pad", axis), shape.left_pad[axis], 0) ||
           !at_least(axis_name("right pad", axis), shape.right_pad[axis], 0) ||
           !at_least(axis_name("output", axis), shape.output[axis], 1))
        {
            return false;
        }
        const std::int64_t reach = saturated_product(shape.filter[axis] - 1, shape.dilation[axis]);
        if(!check_index(axis_name("input", axis), shape.input[axis]) ||
           !check_index(axis_name("output", axis), shape.output[axis]) ||
           !check_index(axis_name("left pad", axis), shape.left_pad[axis]) ||
           !check_index(axis_name("right pad", axis), shape.right_pad[axis]) ||
           !check_index(axis_name("stride", axis), shape.stride[axis]) ||
           !check_index(axis_name("dilated filter", axis), reach) ||
           !check_index(axis_name("padded input", axis),
                        shape.input[axis] + shape.left_pad[axis] + shape.right_pad[axis]))
        {
            return false;
        }
    }
    const bool indexable = check_index("G", shape.G) && check_index("N", shape.N) &&
                           check_index("K", shape.K) && check_index("C", shape.C);
    return indexable && unmet_requirements().size() == before;
}

// Strides that the kernel arguments hold in 32 bits: one image, one group of weights.
inline bool check_strides(const conv_shape& shape)
{
    return check_index("G*C", saturated_product(shape.G, shape.C)) &&
           check_index("G*K", saturated_product(shape.G, shape.K)) &&
           check_index("the input image size G*C*prod(input)",
                       saturated_product(shape.G, shape.C, saturated_volume(shape.input))) &&
           check_index("the output image size G*K*prod(output)",
                       saturated_product(shape.G, shape.K, saturated_volume(shape.output))) &&
           check_index("the weight size per group K*C*prod(filter)",
                       saturated_product(shape.K, shape.C, saturated_volume(shape.filter)));
}

inline bool check_capability(const kernel_facts& facts)
{
    const std::string needed = facts.needs;
    if(needed.empty() || current_device().has(needed)) { return true; }
    const bool moves = needed == "tensor_data_mover";
    return reject(moves ? "tdm-device" : "async-device",
                  "the pipeline " + std::string(facts.pipeline_name) + " needs " +
                      (moves ? "a tensor data mover" : "direct loads to local memory") + " (" +
                      device_names(needed) + "); the device is " + current_device().name);
}

inline bool check_specialization(const kernel_facts& facts, const conv_shape& shape)
{
    const std::string who = getConvSpecializationString(facts.specialization);
    const auto every_axis =
        [&](const char* what, const std::int64_t (&values)[3], std::int64_t wanted) {
            for(int axis = 3 - facts.num_dim_spatial; axis < 3; ++axis)
            {
                if(values[axis] != wanted &&
                   !reject("specialization",
                           who + " needs " + axis_name(what, axis) + " = " +
                               std::to_string(wanted) + ", got " + std::to_string(values[axis])))
                {
                    return false;
                }
            }
            return true;
        };
    switch(facts.specialization)
    {
    case ConvolutionSpecialization::Default: return true;
    case ConvolutionSpecialization::Filter1x1Stride1Pad0:
        return every_axis("filter", shape.filter, 1) && every_axis("stride", shape.stride, 1) &&
               every_axis("left pad", shape.left_pad, 0) &&
               every_axis("right pad", shape.right_pad, 0);
    case ConvolutionSpecialization::Filter1x1Pad0:
        return every_axis("filter", shape.filter, 1) && every_axis("left pad", shape.left_pad, 0) &&
               every_axis("right pad", shape.right_pad, 0);
    case ConvolutionSpecialization::Filter3x3:
        if(shape.C != 1 &&
           !reject("specialization", who + " needs C = 1, got " + std::to_string(shape.C)))
        {
            return false;
        }
        return every_axis("filter", shape.filter, 3);
    case ConvolutionSpecialization::Filter5x5:
        // Its address arithmetic would need C == 1 and 5-wide filters, yet no kernel tests that.
        return reject("specialization", "the specialization Filter5x5 has no support test");
    }
    return reject("specialization", "unknown specialization");
}

inline bool check_explicit(const kernel_facts& facts)
{
    if(!facts.explicit_gemm ||
       facts.specialization == ConvolutionSpecialization::Filter1x1Stride1Pad0)
    {
        return true;
    }
    return reject(
        "explicit-gemm",
        std::string("an explicit GEMM needs the specialization Filter1x1Stride1Pad0, not ") +
            getConvSpecializationString(facts.specialization));
}

inline bool check_layout(const char* tensor, const char* layout, bool known)
{
    if(known) { return true; }
    return reject("layout",
                  std::string("the ") + tensor + " layout " + layout +
                      " is not one that this kernel reads");
}

// 16-bit additions are done in pairs, which an odd vector width cannot form.
inline bool check_odd_atomics(int vector_size_c, data_type e_type, std::int64_t k_batch)
{
    if(k_batch == 1 || vector_size_c % 2 == 0 || size_of(e_type) != 2) { return true; }
    return reject("split-k-atomics",
                  equation("k_batch", k_batch) + " needs an even C vector width for " +
                      name_of(e_type) + " results, got " + std::to_string(vector_size_c));
}

inline bool check_whole_merges(const kernel_facts& facts, const conv_shape& shape)
{
    if(shape.G % facts.groups_to_merge == 0) { return true; }
    return reject("merged-groups",
                  equation("G", shape.G) + " is not a multiple of the " +
                      std::to_string(facts.groups_to_merge) + " merged groups");
}

inline bool check_merged_groups(const kernel_facts& facts, const conv_shape& shape)
{
    const std::int64_t merged = facts.groups_to_merge;
    if(shape.C != 1 && !reject("merged-groups",
                               "merging " + std::to_string(merged) + " groups needs C = 1, got " +
                                   std::to_string(shape.C)))
    {
        return false;
    }
    return check_whole_merges(facts, shape);
}

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API bool supports_forward(const kernel_facts& facts, const forward_call& call)
{
    using namespace impl;
    const conv_shape& shape = call.shape;
    const bool merging      = facts.groups_to_merge > 1;

    clear_rejection();
    if(!check_sizes(shape) || !check_strides(shape) || !check_capability(facts)) { return false; }
    if(call.k_batch != 1 &&
       !reject("split-k",
               equation("k_batch", call.k_batch) + ": the forward kernel does not split K"))
    {
        return false;
    }
    if(!check_specialization(facts, shape) || !check_explicit(facts)) { return false; }

    if(!check_layout("input", facts.in_layout, facts.in_layout_known)) { return false; }
    if(merging ? !check_merged_groups(facts, shape)
               : !check_multiple("C", shape.C, 'A', facts.vector_size_a))
    {
        return false;
    }

    if(!check_layout("weight", facts.wei_layout, facts.wei_layout_known) ||
       !check_multiple("C", shape.C, 'B', facts.vector_size_b))
    {
        return false;
    }

    if(!check_layout("output", facts.out_layout, facts.out_layout_known)) { return false; }
    if(shape.K % facts.vector_size_c != 0)
    {
        // With merged groups a vector may run across groups instead.
        if(!merging)
        {
            if(!check_multiple("K", shape.K, 'C', facts.vector_size_c)) { return false; }
        }
        else if(shape.G % facts.vector_size_c != 0 &&
                !reject("vector-c",
                        "neither " + equation("K", shape.K) + " nor " + equation("G", shape.G) +
                            " is a multiple of the C vector width " +
                            std::to_string(facts.vector_size_c)))
        {
            return false;
        }
    }

    const std::int64_t rows    = saturated_sum(call.gemm.m, facts.m_per_block - 1);
    const std::int64_t columns = saturated_sum(call.gemm.n, facts.n_per_block - 1);
    const bool indexable =
        check_index("GemmM", call.gemm.m) && check_index("GemmN", call.gemm.n) &&
        check_index("GemmK", call.gemm.k) &&
        check_index("the number of tiles",
                    saturated_product(rows / facts.m_per_block, columns / facts.n_per_block)) &&
        check_index("GemmM padded to the tile", rows) &&
        check_index("GemmN padded to the tile", columns);
    all_conditions_tested();
    return indexable;
}

} // namespace ck_tile::host_model
