// SPDX-License-Identifier: MIT
// The run-time side of engine W.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/gemm_params.hpp"
#include "ck_tile/cuda_model/hopper_config.hpp"
#include "ck_tile/cuda_model/hopper_parts.hpp"
#include "ck_tile/cuda_model/tensor_map_request.hpp"

namespace ck_tile::cuda_model {

// What a launch computes, apart from the tensor maps. Tiles are numbered with those along N
// fastest, then M, sub-GEMMs (backward data), groups, and parts of K or of the images.
struct hopper_work
{
    gemm_params g;
    int tiles; // of everything
    fast_divisor n_tiles, m_tiles, gemms, batch;
    fast_divisor parts;  // of K
    fast_divisor chunks; // of 128 bytes of channels (or columns) per tap
    int pixels;          // all positions of the GEMM's rows or depth, of a split of the images
    part_sums sums;      // of several parts of K
    int joined;          // groups that count as one; see joined_groups.hpp
    fast_divisor group_channels, group_filters; // of one group, as they are in memory
};

// Channels of the operand that windows are cut from, and of the GEMM's columns.
template <typename Config>
hopper_work make_hopper_work(const gemm_params& g, int joined = 1)
{
    hopper_work w{};
    w.g                 = g;
    w.joined            = joined;
    w.group_channels    = make_fast_divisor(g.in_channels / joined);
    w.group_filters     = make_fast_divisor(g.out_channels / joined);
    const int channels  = Config::direction == direction::forward ? g.in_channels
                          : Config::direction == direction::backward_data
                              ? g.out_channels
                              : g.in_channels * Config::merged;
    const int per_chunk = Config::weight ? Config::columns_per_chunk : Config::k_elements;
    const int chunks    = (channels + per_chunk - 1) / per_chunk;
    const int taps      = g.filter[0] * g.filter[1] * g.filter[2];
    const int column_chunks =
        Config::weight ? (taps * chunks + Config::column_chunks - 1) / Config::column_chunks : 0;
    const int n_tiles =
        Config::weight ? column_chunks : (g.n + Config::tile_n - 1) / Config::tile_n;
    const int m_tiles  = (g.m + Config::tile_m - 1) / Config::tile_m;
    const int gemms    = Config::direction == direction::backward_data ? g.gemms : 1;
    w.n_tiles          = make_fast_divisor(n_tiles);
    w.m_tiles          = make_fast_divisor(m_tiles);
    w.gemms            = make_fast_divisor(gemms);
    w.batch            = make_fast_divisor(g.blocks_y);
    w.chunks           = make_fast_divisor(chunks);
    w.parts            = make_fast_divisor(g.k_batch);
    w.pixels           = Config::weight ? g.k : g.m;
    const double tiles = static_cast<double>(n_tiles) * m_tiles * gemms *
                         static_cast<double>(g.blocks_y) * static_cast<double>(g.blocks_z);
    w.tiles            = tiles < 2147483647.0 ? static_cast<int>(tiles) : -1;
    w.sums             = {g.k_batch, w.tiles / g.k_batch, 1, nullptr, nullptr};
    return w;
}

} // namespace ck_tile::cuda_model
