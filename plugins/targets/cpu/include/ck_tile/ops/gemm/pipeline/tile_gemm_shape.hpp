// SPDX-License-Identifier: MIT
#pragma once

#include "ck_tile/core/container/sequence.hpp"

namespace ck_tile {

// Block tile, wave grid and MMA tile, each as (M,N,K).
template <typename BlockTile_, typename BlockWarps_, typename WarpTile_>
struct TileGemmShape
{
    using BlockTile  = BlockTile_;
    using BlockWarps = BlockWarps_;
    using WarpTile   = WarpTile_;

    static_assert(BlockTile::size() == 3 && BlockWarps::size() == 3 && WarpTile::size() == 3);

    static constexpr index_t NumWarps = BlockWarps::product();

    static constexpr index_t kM = BlockTile::at(0);
    static constexpr index_t kN = BlockTile::at(1);
    static constexpr index_t kK = BlockTile::at(2);

    static_assert(kM > 0 && kN > 0 && kK > 0 && NumWarps > 0, "sizes must be positive");
};

} // namespace ck_tile
