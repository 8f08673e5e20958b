// SPDX-License-Identifier: MIT
#pragma once

#include "ck_tile/core/container/sequence.hpp"

namespace ck_tile {

// Waves per block, elements per block and lanes per wave of a one-dimensional element-wise kernel.
template <typename BlockWarps_, typename BlockTile_, typename WarpTile_, typename ComputeDataType_>
struct ElementWiseShape
{
    using BlockWarps      = BlockWarps_;
    using BlockTile       = BlockTile_;
    using WarpTile        = WarpTile_;
    using ComputeDataType = ComputeDataType_;

    static constexpr index_t kBlockM    = BlockTile::at(0);
    static constexpr index_t kBlockSize = BlockWarps::product() * 64;
};

} // namespace ck_tile
