// SPDX-License-Identifier: MIT
// Which output tile a block computes.
#pragma once

#include "ck_tile/core/numeric/integer.hpp"
#include "ck_tile/core/numeric/math.hpp"

namespace ck_tile {

// Position of a tile, in tiles; binds as `auto [m, n] = ...`.
struct tile_index
{
    index_t m;
    index_t n;
};

// Row-major order over the grid of M0 x N0 tiles.
template <typename BlockGemmShape_>
struct GemmTile1DPartitioner
{
    using BlockGemmShape = BlockGemmShape_;

    static constexpr index_t MPerBlock = BlockGemmShape::kM;
    static constexpr index_t NPerBlock = BlockGemmShape::kN;
    static constexpr index_t KPerBlock = BlockGemmShape::kK;

    constexpr GemmTile1DPartitioner(index_t M, index_t N)
        : m_tiles_(integer_divide_ceil(M, MPerBlock)),
          n_tiles_(integer_divide_ceil(N, NPerBlock))
    {}

    static constexpr index_t GridSize(index_t M, index_t N)
    { return integer_divide_ceil(M, MPerBlock) * integer_divide_ceil(N, NPerBlock); }

    static constexpr index_t GetLoopNum(index_t K) { return integer_divide_ceil(K, KPerBlock); }

    constexpr tile_index GetOutputTileIndex(index_t block) const
    { return {block / n_tiles_, block % n_tiles_}; }

private:
    [[maybe_unused]] index_t m_tiles_;
    index_t n_tiles_;
};

// Order that keeps blocks which run at the same time close together in both M and N.
//
// Block ids are dealt to GroupNum groups round robin; a group owns a contiguous range of linear ids
// (the first groups one more if they do not divide evenly), and linear ids walk down strips of M01
// tile rows. The mapping is a bijection between ids and tiles for every grid.
template <typename BlockGemmShape_, index_t GroupNum = 8, index_t M01 = 4>
struct GemmSpatiallyLocalTilePartitioner
{
    using BlockGemmShape = BlockGemmShape_;

    static constexpr index_t MPerBlock = BlockGemmShape::kM;
    static constexpr index_t NPerBlock = BlockGemmShape::kN;
    static constexpr index_t KPerBlock = BlockGemmShape::kK;

    constexpr GemmSpatiallyLocalTilePartitioner(index_t M, index_t N) : M_(M), N_(N) {}

    static constexpr index_t GridSize(index_t M, index_t N)
    { return integer_divide_ceil(M, MPerBlock) * integer_divide_ceil(N, NPerBlock); }

    static constexpr index_t GetLoopNum(index_t K) { return integer_divide_ceil(K, KPerBlock); }

    constexpr tile_index GetOutputTileIndex(index_t block) const
    {
        const index_t m_tiles = integer_divide_ceil(M_, MPerBlock);
        const index_t n_tiles = integer_divide_ceil(N_, NPerBlock);
        if(m_tiles == 1) { return {0, block}; }
        if(n_tiles == 1) { return {block, 0}; }

        const index_t group_size = integer_divide_ceil(m_tiles * n_tiles, GroupNum);
        const index_t big_groups = GroupNum - (group_size * GroupNum - m_tiles * n_tiles);
        const index_t group      = block % GroupNum;
        const index_t in_group   = block / GroupNum;
        const index_t linear     = group <= big_groups
                                       ? group * group_size + in_group
                                       : group * group_size + big_groups - group + in_group;

        const index_t m          = linear / n_tiles;
        const index_t n          = linear % n_tiles;
        const index_t last_strip = m_tiles % M01;
        const index_t strip_rows = m < m_tiles - last_strip ? M01 : last_strip;
        const index_t in_strip   = n + (m % M01) * n_tiles;
        return {in_strip % strip_rows + m / M01 * M01, in_strip / strip_rows};
    }

private:
    index_t M_;
    index_t N_;
};

} // namespace ck_tile
