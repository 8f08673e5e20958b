// SPDX-License-Identifier: MIT
#pragma once

namespace ck_tile {

template <typename XDataType_,
          typename ComputeDataType_,
          typename YDataType_,
          typename BlockShape_,
          typename ElementWiseOperation_>
struct ElementWisePipelineProblem
{
    using XDataType            = XDataType_;
    using ComputeDataType      = ComputeDataType_;
    using YDataType            = YDataType_;
    using BlockShape           = BlockShape_;
    using ElementWiseOperation = ElementWiseOperation_;
};

// Names the access pattern on a GPU; the host model has one only.
struct ElementWiseDefaultPolicy
{};

} // namespace ck_tile
