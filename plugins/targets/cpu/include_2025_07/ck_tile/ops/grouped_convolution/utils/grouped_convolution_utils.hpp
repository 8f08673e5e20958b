// SPDX-License-Identifier: MIT
// Host arguments and traits of grouped convolutions.
#pragma once

#include <utility>
#include <vector>

#include "ck_tile/core/container/tuple.hpp"
#include "ck_tile/host/convolution_parameter.hpp"
#include "ck_tile/ops/common/tensor_layout.hpp"
#include "ck_tile/ops/gemm/pipeline/tile_gemm_traits.hpp"
#include "ck_tile/ops/grouped_convolution/utils/convolution_specialization.hpp"

namespace ck_tile {

template <typename InPtr, typename WeiPtr, typename OutPtr>
struct GroupedConvHostArgs : conv::ConvParam
{
    GroupedConvHostArgs(conv::ConvParam param,
                        InPtr in,
                        WeiPtr wei,
                        std::vector<const void*> ds,
                        OutPtr out,
                        index_t k_batch_)
        : conv::ConvParam(std::move(param)),
          in_ptr(in),
          wei_ptr(wei),
          ds_ptr(std::move(ds)),
          out_ptr(out),
          k_batch(k_batch_)
    {}

    InPtr in_ptr;
    WeiPtr wei_ptr;
    std::vector<const void*> ds_ptr;
    OutPtr out_ptr;
    index_t k_batch;
};

using GroupedConvFwdHostArgs       = GroupedConvHostArgs<const void*, const void*, void*>;
using GroupedConvBwdWeightHostArgs = GroupedConvHostArgs<const void*, void*, const void*>;

template <index_t NDimSpatial_,
          ConvolutionSpecialization ConvSpecialization_,
          typename InLayout_,
          typename WeiLayout_,
          typename DsLayout_,
          typename OutLayout_>
struct GroupedConvTraits
{
    using InLayout  = InLayout_;
    using WeiLayout = WeiLayout_;
    using DsLayout  = DsLayout_;
    using OutLayout = OutLayout_;

    static constexpr index_t NDimSpatial                          = NDimSpatial_;
    static constexpr index_t NumGroupsToMerge                     = 1;
    static constexpr index_t NumDTensor                           = DsLayout::size();
    static constexpr ConvolutionSpecialization ConvSpecialization = ConvSpecialization_;

    // One set for all directions.
    using GroupedConvImplicitGemmTraits = TileGemmUniversalTraits<true,
                                                                  true,
                                                                  true,
                                                                  false,
                                                                  tensor_layout::gemm::RowMajor,
                                                                  tensor_layout::gemm::ColumnMajor,
                                                                  tensor_layout::gemm::RowMajor,
                                                                  false,
                                                                  false,
                                                                  false,
                                                                  1>;

    using ImplicitGemmDsLayout = tuple<>;
};

} // namespace ck_tile
