// SPDX-License-Identifier: MIT
// Host arguments and traits of the grouped-convolution kernels.
#pragma once

#include <type_traits>
#include <vector>

#include "ck_tile/core/container/tuple.hpp"
#include "ck_tile/host/convolution_parameter.hpp"
#include "ck_tile/ops/common/tensor_layout.hpp"
#include "ck_tile/ops/elementwise/unary_element_wise_operation.hpp"
#include "ck_tile/ops/gemm/pipeline/tile_gemm_traits.hpp"
#include "ck_tile/ops/grouped_convolution/utils/convolution_specialization.hpp"

namespace ck_tile {

// The problem and its tensors. Pointers keep the names of their tensors in every direction; the
// result is the one that is not const.
template <typename InPtr,
          typename WeiPtr,
          typename OutPtr,
          typename CDElementwise = element_wise::PassThrough>
struct GroupedConvHostArgs : conv::ConvParam
{
    GroupedConvHostArgs() = delete;

    GroupedConvHostArgs(conv::ConvParam param,
                        InPtr in,
                        WeiPtr wei,
                        std::vector<const void*> ds,
                        OutPtr out,
                        index_t k_batch_,
                        CDElementwise elfunc_ = {})
        : conv::ConvParam(static_cast<conv::ConvParam&&>(param)),
          in_ptr(in),
          wei_ptr(wei),
          ds_ptr(static_cast<std::vector<const void*>&&>(ds)),
          out_ptr(out),
          k_batch(k_batch_),
          elfunc(elfunc_)
    {}

    InPtr in_ptr;
    WeiPtr wei_ptr;
    std::vector<const void*> ds_ptr;
    OutPtr out_ptr;
    index_t k_batch;
    CDElementwise elfunc;
};

template <typename CDElementwise = element_wise::PassThrough>
using GroupedConvFwdHostArgs = GroupedConvHostArgs<const void*, const void*, void*, CDElementwise>;
using GroupedConvBwdDataHostArgs   = GroupedConvHostArgs<void*, const void*, const void*>;
using GroupedConvBwdWeightHostArgs = GroupedConvHostArgs<const void*, void*, const void*>;

// A row-major matrix for each layout.
template <typename Layout>
struct rows_for
{
    using type = tensor_layout::gemm::RowMajor;
};
template <typename... Layouts>
struct rows_for<tuple<Layouts...>>
{
    using type = tuple<typename rows_for<Layouts>::type...>;
};

template <index_t NDimSpatial_,
          ConvolutionSpecialization ConvSpecialization_,
          typename InLayout_,
          typename WeiLayout_,
          typename DsLayout_,
          typename OutLayout_,
          index_t VectorSizeA_      = 1,
          index_t VectorSizeB_      = 1,
          index_t VectorSizeC_      = 1,
          index_t NumGroupsToMerge_ = 1,
          bool EnableSplitImage_    = false,
          bool ExplicitGemm_        = false,
          typename DepthwiseTraits_ = void>
struct GroupedConvTraits
{
    static_assert(1 <= NDimSpatial_ && NDimSpatial_ <= 3);
    static_assert(NumGroupsToMerge_ >= 1);
    static_assert(!ExplicitGemm_ || NumGroupsToMerge_ == 1,
                  "an explicit GEMM does not merge groups");

    using InLayout        = InLayout_;
    using WeiLayout       = WeiLayout_;
    using DsLayout        = DsLayout_;
    using OutLayout       = OutLayout_;
    using DepthwiseTraits = DepthwiseTraits_;

    static constexpr index_t NDimSpatial      = NDimSpatial_;
    static constexpr index_t VectorSizeA      = VectorSizeA_;
    static constexpr index_t VectorSizeB      = VectorSizeB_;
    static constexpr index_t VectorSizeC      = VectorSizeC_;
    static constexpr index_t NumGroupsToMerge = NumGroupsToMerge_;
    static constexpr bool EnableSplitImage    = EnableSplitImage_;
    static constexpr bool ExplicitGemm        = ExplicitGemm_;

    static constexpr ConvolutionSpecialization ConvSpecialization = ConvSpecialization_;

    using row    = tensor_layout::gemm::RowMajor;
    using column = tensor_layout::gemm::ColumnMajor;

    // Rows that are merged groups make A's fastest axis M instead of K.
    using AsLayoutFwd       = std::conditional_t<(NumGroupsToMerge > 1), column, row>;
    using BsLayoutFwd       = column;
    using CLayoutFwd        = row;
    using AsLayoutBwdData   = row;
    using BsLayoutBwdData   = row;
    using CLayoutBwdData    = row;
    using AsLayoutBwdWeight = column;
    using BsLayoutBwdWeight = row;
    using CLayoutBwdWeight  = row;

    // Parameters that every grouped-convolution kernel sets alike.
    struct FixedGemmParams
    {
        static constexpr index_t TilePartitionerGroupNum = 8;
        static constexpr index_t TilePartitionerM01      = 4;
        static constexpr bool kPadM                      = true;
        static constexpr bool kPadN                      = true;
        static constexpr bool kPadK                      = true;
        static constexpr bool TransposeC                 = false;
        static constexpr bool FixedVectorSize            = true;
        static constexpr bool UseStructuredSparsity      = false;
        static constexpr bool Persistent                 = false;
        using ELayout                                    = row;
    };

    template <typename A, typename B, typename C, index_t NumWaveGroups>
    using gemm_traits = TileGemmUniversalTraits<FixedGemmParams::kPadM,
                                                FixedGemmParams::kPadN,
                                                FixedGemmParams::kPadK,
                                                false,
                                                A,
                                                B,
                                                C,
                                                FixedGemmParams::TransposeC,
                                                FixedGemmParams::UseStructuredSparsity,
                                                FixedGemmParams::Persistent,
                                                NumWaveGroups>;

    template <index_t NumWaveGroups = 1>
    using GroupedConvImplicitGemmTraitsFwd =
        gemm_traits<AsLayoutFwd, BsLayoutFwd, CLayoutFwd, NumWaveGroups>;
    template <index_t NumWaveGroups = 1>
    using GroupedConvImplicitGemmTraitsBwdData =
        gemm_traits<AsLayoutBwdData, BsLayoutBwdData, CLayoutBwdData, NumWaveGroups>;
    template <index_t NumWaveGroups = 1>
    using GroupedConvImplicitGemmTraitsBwdWeight =
        gemm_traits<AsLayoutBwdWeight, BsLayoutBwdWeight, CLayoutBwdWeight, NumWaveGroups>;

    static constexpr index_t NumDTensor = DsLayout::size();
    using ImplicitGemmDsLayout          = typename rows_for<DsLayout>::type;
};

} // namespace ck_tile
