// SPDX-License-Identifier: MIT
// What a pipeline is built from, with the loop's tail and operations on the operands as template
// arguments.
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
          GemmPipelineScheduler Scheduler_ = GemmPipelineScheduler::Intrawave,
          bool HasHotLoop_                 = true,
          TailNumber TailNum_              = TailNumber::Full,
          typename AElementWise_           = element_wise::PassThrough,
          typename BElementWise_           = element_wise::PassThrough,
          typename ComputeDataType_        = ADataType_,
          bool FixedVectorSize_            = false,
          index_t VectorSizeA_             = 1,
          index_t VectorSizeB_             = 1>
struct UniversalGemmPipelineProblem
{
    using ADataType       = ADataType_;
    using BDataType       = BDataType_;
    using CDataType       = CDataType_;
    using BlockGemmShape  = BlockGemmShape_;
    using Traits          = Traits_;
    using AElementWise    = AElementWise_;
    using BElementWise    = BElementWise_;
    using ComputeDataType = ComputeDataType_;
    using AComputeType    = ComputeDataType_;
    using BComputeType    = ComputeDataType_;

    static constexpr GemmPipelineScheduler Scheduler = Scheduler_;

    static constexpr bool HasHotLoop       = HasHotLoop_;
    static constexpr TailNumber TailNum    = TailNum_;
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

// The headers have no scheduler here; instances of pipelines that are built from it are listed as
// intrawave.
template <typename ADataType_,
          typename BDataType_,
          typename CDataType_,
          typename BlockGemmShape_,
          typename Traits_,
          typename AElementWise_    = element_wise::PassThrough,
          typename BElementWise_    = element_wise::PassThrough,
          typename ComputeDataType_ = ADataType_,
          bool FixedVectorSize_     = false,
          index_t VectorSizeA_      = 1,
          index_t VectorSizeB_      = 1>
using GemmPipelineProblem = UniversalGemmPipelineProblem<ADataType_,
                                                         BDataType_,
                                                         CDataType_,
                                                         BlockGemmShape_,
                                                         Traits_,
                                                         GemmPipelineScheduler::Intrawave,
                                                         true,
                                                         TailNumber::Full,
                                                         AElementWise_,
                                                         BElementWise_,
                                                         ComputeDataType_,
                                                         FixedVectorSize_,
                                                         VectorSizeA_,
                                                         VectorSizeB_>;

} // namespace ck_tile
