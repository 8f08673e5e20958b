// SPDX-License-Identifier: MIT
// Compile-time description of a block GEMM: types, shape, traits, vector widths.
#pragma once

#include "ck_tile/core/numeric/integer.hpp"
#include "ck_tile/ops/elementwise/unary_element_wise_operation.hpp"
#include "ck_tile/ops/gemm/pipeline/gemm_pipeline_scheduler.hpp"

namespace ck_tile {

template <typename ADataType_,
          typename BDataType_,
          typename CDataType_,
          typename BlockGemmShape_,
          typename Traits_,
          GemmPipelineScheduler Scheduler_,
          typename AElementWise_ = element_wise::PassThrough,
          typename BElementWise_ = element_wise::PassThrough,
          typename AComputeType_ = ADataType_,
          typename BComputeType_ = BDataType_,
          bool FixedVectorSize_  = false,
          index_t VectorSizeA_   = 1,
          index_t VectorSizeB_   = 1>
struct UniversalGemmPipelineProblem
{
    using ADataType      = ADataType_;
    using BDataType      = BDataType_;
    using CDataType      = CDataType_;
    using BlockGemmShape = BlockGemmShape_;
    using Traits         = Traits_;
    using AElementWise   = AElementWise_;
    using BElementWise   = BElementWise_;
    using AComputeType   = AComputeType_;
    using BComputeType   = BComputeType_;
    using AsLayout       = typename Traits::AsLayout;
    using BsLayout       = typename Traits::BsLayout;
    using CLayout        = typename Traits::CLayout;

    static constexpr GemmPipelineScheduler Scheduler = Scheduler_;

    static constexpr index_t kBlockSize    = BlockGemmShape::NumWarps * 64;
    static constexpr bool kPadM            = Traits::kPadM;
    static constexpr bool kPadN            = Traits::kPadN;
    static constexpr bool kPadK            = Traits::kPadK;
    static constexpr bool DoubleSmemBuffer = Traits::DoubleSmemBuffer;
    static constexpr bool TransposeC       = Traits::TransposeC;
    static constexpr index_t NumWaveGroups = Traits::NumWaveGroups;
    static constexpr bool FixedVectorSize  = FixedVectorSize_;
    static constexpr index_t VectorSizeA   = VectorSizeA_;
    static constexpr index_t VectorSizeB   = VectorSizeB_;
};

// The same without a scheduler: what the loop-count arithmetic of a pipeline needs.
template <typename ADataType_,
          typename BDataType_,
          typename CDataType_,
          typename BlockGemmShape_,
          typename Traits_,
          typename AComputeType_ = ADataType_,
          typename BComputeType_ = BDataType_,
          typename AElementWise_ = element_wise::PassThrough,
          typename BElementWise_ = element_wise::PassThrough,
          bool FixedVectorSize_  = false,
          index_t VectorSizeA_   = 1,
          index_t VectorSizeB_   = 1>
struct GemmPipelineProblem : UniversalGemmPipelineProblem<ADataType_,
                                                          BDataType_,
                                                          CDataType_,
                                                          BlockGemmShape_,
                                                          Traits_,
                                                          GemmPipelineScheduler::Default,
                                                          AElementWise_,
                                                          BElementWise_,
                                                          AComputeType_,
                                                          BComputeType_,
                                                          FixedVectorSize_,
                                                          VectorSizeA_,
                                                          VectorSizeB_>
{};

} // namespace ck_tile
