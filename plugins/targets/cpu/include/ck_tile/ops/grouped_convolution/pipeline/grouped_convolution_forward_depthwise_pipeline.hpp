// SPDX-License-Identifier: MIT
// Traits and pipeline of the depthwise forward kernel.
#pragma once

#include <type_traits>

#include "ck_tile/host_model/depthwise.hpp"

namespace ck_tile {

template <typename InDataType_,
          typename WeiDataType_,
          typename AccDataType_,
          typename OutDataType_,
          index_t BlockSize_,
          index_t TileH_,
          index_t TileW_,
          index_t FilterH_,
          index_t FilterW_,
          index_t StrideH_,
          index_t StrideW_,
          index_t DilationH_,
          index_t DilationW_,
          index_t PadH_,
          index_t PadW_,
          index_t NBatch_,
          index_t SubTileH_,
          index_t SubTileW_,
          index_t InVec_,
          index_t OutVec_>
struct DepthwiseConvFwdTraits
{
    using InDataType  = InDataType_;
    using WeiDataType = WeiDataType_;
    using AccDataType = AccDataType_;
    using OutDataType = OutDataType_;

    static constexpr index_t BlockSize = BlockSize_;
    static constexpr index_t NBatch    = NBatch_;

    static_assert(std::is_same_v<AccDataType, float>, "accumulators are float");
    static_assert(BlockSize == 64 || BlockSize == 128 || BlockSize == 256);
    static_assert(FilterH_ == FilterW_ && FilterH_ % 2 == 1, "filters are square and odd");
    static_assert(DilationH_ == 1 && DilationW_ == 1, "no dilation");
    static_assert(1 <= SubTileH_ && SubTileH_ <= TileH_ && 1 <= SubTileW_ && SubTileW_ <= TileW_,
                  "a sub-tile is part of the tile");
    static_assert(InVec_ >= 1 && (InVec_ & (InVec_ - 1)) == 0 && OutVec_ >= 1 &&
                      (OutVec_ & (OutVec_ - 1)) == 0,
                  "vector widths are powers of two");
    static_assert(((TileH_ + SubTileH_ - 1) / SubTileH_) * ((TileW_ + SubTileW_ - 1) / SubTileW_) <=
                      BlockSize,
                  "every sub-tile has a thread");

    static constexpr host_model::depthwise_facts facts{2,
                                                       host_model::data_type_of<InDataType>::value,
                                                       host_model::data_type_of<WeiDataType>::value,
                                                       host_model::data_type_of<OutDataType>::value,
                                                       default_bf16_rounding_mode,
                                                       BlockSize,
                                                       {TileH_, TileW_},
                                                       {FilterH_, FilterW_},
                                                       {StrideH_, StrideW_},
                                                       {DilationH_, DilationW_},
                                                       {PadH_, PadW_},
                                                       NBatch,
                                                       {SubTileH_, SubTileW_},
                                                       InVec_,
                                                       OutVec_};
};

template <typename Traits_>
struct DepthwiseConvFwdPipeline
{
    using Traits = Traits_;

    static constexpr const char* GetPipelineName() { return "DEPTHWISE"; }
};

} // namespace ck_tile
