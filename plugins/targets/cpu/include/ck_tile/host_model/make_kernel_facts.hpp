// SPDX-License-Identifier: MIT
// From the template arguments of a GEMM convolution kernel to kernel_facts.
#pragma once

#include <type_traits>
#include <utility>

#include "ck_tile/host_model/conv_level.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"
#include "ck_tile/ops/common/tensor_layout.hpp"
#include "ck_tile/ops/elementwise/unary_element_wise_operation.hpp"
#include "ck_tile/ops/gemm/pipeline/gemm_pipeline_scheduler.hpp"

namespace ck_tile::host_model {

template <typename Layout>
constexpr bool is_channels_last(tensor_layout::convolution::tensor_role role, int num_dim_spatial)
{
    return Layout::role == role && Layout::num_dim_spatial == num_dim_spatial &&
           Layout::channels_last;
}

template <direction Direction,
          typename ConvTraits,
          typename TilePartitioner,
          typename Pipeline,
          typename Epilogue>
constexpr kernel_facts make_kernel_facts()
{
    using tensor_layout::convolution::tensor_role;
    using shape = typename Pipeline::BlockGemmShape;

    static_assert(TilePartitioner::MPerBlock == shape::kM &&
                      TilePartitioner::NPerBlock == shape::kN &&
                      TilePartitioner::KPerBlock == shape::kK,
                  "the partitioner and the pipeline have different block tiles");

    using elementwise       = typename Epilogue::CDElementwise;
    constexpr bool as_it_is = std::is_same_v<elementwise, element_wise::PassThrough>;
    constexpr auto d_count  = Epilogue::DsDataType::size();
    static_assert(d_count == ConvTraits::DsLayout::size(), "D tensors differ from their layouts");
    static_assert(d_count == 0 || !as_it_is, "nothing is done with the D tensors");
    using accumulator           = typename Epilogue::AccDataType;
    using result                = typename Epilogue::ODataType;
    constexpr bool integer_sums = std::is_same_v<accumulator, int32_t>;
    static_assert(std::is_same_v<accumulator, float> || integer_sums,
                  "accumulators are float or int32_t");
    static_assert(integer_sums == (std::is_same_v<typename Pipeline::ADataType, int8_t> &&
                                   std::is_same_v<typename Pipeline::BDataType, int8_t> &&
                                   std::is_same_v<result, int8_t>),
                  "int8_t is added up in int32_t, and the result is int8_t, or nothing of that");
    static_assert(Direction == direction::forward ||
                      (sizeof(typename Pipeline::ADataType) > 1 && sizeof(result) > 1),
                  "only forward is modelled with tensors of 8 bits");

    constexpr int dimensions = ConvTraits::NDimSpatial;

    kernel_facts facts{};
    facts.direction       = Direction;
    facts.num_dim_spatial = dimensions;
    facts.specialization  = ConvTraits::ConvSpecialization;
    facts.in_layout       = ConvTraits::InLayout::name;
    facts.wei_layout      = ConvTraits::WeiLayout::name;
    facts.out_layout      = ConvTraits::OutLayout::name;
    facts.in_layout_known =
        is_channels_last<typename ConvTraits::InLayout>(tensor_role::input, dimensions);
    facts.wei_layout_known =
        is_channels_last<typename ConvTraits::WeiLayout>(tensor_role::weight, dimensions);
    facts.out_layout_known =
        is_channels_last<typename ConvTraits::OutLayout>(tensor_role::output, dimensions);

    facts.vector_size_a   = ConvTraits::VectorSizeA;
    facts.vector_size_b   = ConvTraits::VectorSizeB;
    facts.vector_size_c   = ConvTraits::VectorSizeC;
    facts.groups_to_merge = ConvTraits::NumGroupsToMerge;
    facts.split_image     = ConvTraits::EnableSplitImage;
    facts.explicit_gemm   = ConvTraits::ExplicitGemm;

    facts.m_per_block = shape::kM;
    facts.n_per_block = shape::kN;
    facts.k_per_block = shape::kK;
    facts.m_waves     = shape::BlockWarps::at(0);
    facts.n_waves     = shape::BlockWarps::at(1);
    facts.k_waves     = shape::BlockWarps::at(2);
    facts.m_mma       = shape::WarpTile::at(0);
    facts.n_mma       = shape::WarpTile::at(1);
    facts.k_mma       = shape::WarpTile::at(2);
    facts.block_size  = Pipeline::BlockSize;

    // Operands are multiplied in their own type, or both in TF32.
    constexpr data_type a_factor = data_type_of<typename Pipeline::AComputeType>::value;
    constexpr data_type b_factor = data_type_of<typename Pipeline::BComputeType>::value;
    constexpr bool tf32          = a_factor == data_type::tf32;
    static_assert(tf32 == (b_factor == data_type::tf32), "one operand alone is rounded to TF32");
    static_assert(data_type_of<typename Pipeline::ADataType>::value ==
                          (tf32 ? data_type::fp32 : a_factor) &&
                      data_type_of<typename Pipeline::BDataType>::value ==
                          (tf32 ? data_type::fp32 : b_factor),
                  "the only compute type that is modelled is tf32_t for operands of float");

    facts.a_type       = data_type_of<typename Pipeline::ADataType>::value;
    facts.b_type       = data_type_of<typename Pipeline::BDataType>::value;
    facts.e_type       = data_type_of<result>::value;
    facts.integer_sums = integer_sums;
    facts.tf32         = tf32;
    facts.rounding     = default_bf16_rounding_mode;

    facts.pipeline_name       = Pipeline::facts.name;
    facts.pipeline_class      = Pipeline::facts.class_name;
    facts.scheduler           = scheduler_name(Pipeline::Scheduler);
    facts.double_smem_buffer  = Pipeline::DoubleSmemBuffer;
    facts.num_wave_groups     = Pipeline::NumWaveGroups;
    facts.needs               = Pipeline::facts.needs;
    facts.epilogue            = Epilogue::name;
    facts.accumulators        = Pipeline::facts.accumulators;
    facts.min_loops_per_split = Pipeline::facts.min_loops_per_split;
    facts.bounds_splits       = conv_level::bounds_splits;
    facts.splits_reduction =
        Direction == direction::backward_weight ||
        (Direction == direction::backward_data && conv_level::splits_backward_data);

    facts.cde_operation = elementwise::name;
    if constexpr(!as_it_is)
    {
        facts.elementwise = make_elementwise_facts<elementwise,
                                                   result,
                                                   sum_of<result, accumulator>,
                                                   typename Epilogue::DsDataType::base,
                                                   typename ConvTraits::DsLayout::base>(
            std::make_index_sequence<std::size_t{d_count}>{});
    }
    return facts;
}

} // namespace ck_tile::host_model
