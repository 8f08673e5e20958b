// SPDX-License-Identifier: MIT
// The run-time side of engine W for a product of two matrices, and the order in which its
// persistent blocks take tiles. Usable without a GPU.
#pragma once

#include <cmath>
#include <cstdint>

#include "ck_tile/cuda_model/fast_divisor.hpp"
#include "ck_tile/cuda_model/hopper_config.hpp"
#include "ck_tile/cuda_model/hopper_parts.hpp"
#include "ck_tile/cuda_model/hopper_walk.hpp"
#include "ck_tile/cuda_model/matrix_params.hpp"
#include "ck_tile/cuda_model/tensor_map_request.hpp"
#include "ck_tile/cuda_model/tile_place.hpp"

namespace ck_tile::cuda_model {

// Tiles are numbered along bands of some rows of tiles, first down and then across, so that tiles
// which are computed at the same time share as much of A and B as they can; then come products,
// and parts of K.
struct matrix_work
{
    matrix_params g;
    int tiles; // of everything; negative if they cannot be counted
    fast_divisor product_tiles, batch;
    fast_divisor band_tiles;           // of a whole band
    fast_divisor band_rows, last_rows; // rows of tiles of all bands but the last, and of that
    int last_band;
    bool one_row, one_column;  // of tiles
    int steps, steps_per_part; // of one row of shared memory
    part_sums sums;            // of several parts of K
};

// Rows of tiles that so many blocks make as square a part of the result with as possible.
template <typename Config>
int rows_of_band(int blocks, int m_tiles)
{
    const double side = std::sqrt(static_cast<double>(blocks) * Config::n / Config::m);
    const int rows    = static_cast<int>(side + 0.5);
    return rows < 1 ? 1 : rows < m_tiles ? rows : m_tiles;
}

template <typename Config>
matrix_work make_matrix_work(const matrix_params& g, int blocks)
{
    matrix_work w{};
    w.g                = g;
    const int m_tiles  = (g.m + Config::m - 1) / Config::m;
    const int n_tiles  = (g.n + Config::n - 1) / Config::n;
    const int rows     = rows_of_band<Config>(blocks, m_tiles);
    const int bands    = (m_tiles + rows - 1) / rows;
    const double tiles = static_cast<double>(m_tiles) * n_tiles * g.batch * g.k_batch;
    w.tiles            = tiles < 2147483647.0 ? static_cast<int>(tiles) : -1;
    if(w.tiles < 0) { return w; }
    w.sums           = {g.k_batch, w.tiles / g.k_batch, 1, nullptr, nullptr};
    w.product_tiles  = make_fast_divisor(m_tiles * n_tiles);
    w.batch          = make_fast_divisor(g.batch);
    w.band_tiles     = make_fast_divisor(rows * n_tiles);
    w.band_rows      = make_fast_divisor(rows);
    w.last_rows      = make_fast_divisor(m_tiles - (bands - 1) * rows);
    w.last_band      = bands - 1;
    w.one_row        = m_tiles == 1;
    w.one_column     = n_tiles == 1;
    w.steps          = (g.k + Config::k_elements - 1) / Config::k_elements;
    w.steps_per_part = (w.steps + g.k_batch - 1) / g.k_batch;
    return w;
}

template <typename Config>
CK_TILE_CUDA_BOTH inline hopper_tile_place find_hopper_place(const matrix_work& w, int tile)
{
    const int rest          = w.product_tiles.quotient(tile);
    const int number        = w.product_tiles.remainder(tile, rest);
    const int part          = w.batch.quotient(rest);
    const int band          = w.band_tiles.quotient(number);
    const int in_band       = w.band_tiles.remainder(number, band);
    const fast_divisor rows = band == w.last_band ? w.last_rows : w.band_rows;
    const int column        = rows.quotient(in_band);
    const int row = band * static_cast<int>(w.band_rows.divisor) + rows.remainder(in_band, column);

    hopper_tile_place place{};
    place.at.first_row    = row * Config::m;
    place.at.first_column = column * Config::n;
    place.at.first_group  = w.batch.remainder(rest, part);
    place.number     = place.at.first_group * static_cast<int>(w.product_tiles.divisor) + number;
    const int begin  = part * w.steps_per_part;
    place.step_begin = begin < w.steps ? begin : w.steps;
    place.step_end   = w.steps - place.step_begin < w.steps_per_part
                           ? w.steps
                           : place.step_begin + w.steps_per_part;
    return place;
}

// One matrix of each product: the contiguous axis, lines, products.
inline tile_map_request make_matrix_map_request(const void* base,
                                                int contiguous,
                                                int lines,
                                                std::int64_t stride,
                                                int batch,
                                                std::int64_t batch_stride,
                                                int element_bytes)
{
    const auto bytes = [&](std::int64_t elements) {
        return static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(element_bytes);
    };
    // Of one product, nothing is read at the distance of a second.
    return {3,
            base,
            {static_cast<std::uint64_t>(contiguous),
             static_cast<std::uint64_t>(lines),
             static_cast<std::uint64_t>(batch)},
            {bytes(stride), bytes(batch == 1 ? stride * lines : batch_stride)},
            {static_cast<unsigned>(hopper_row_bytes / element_bytes), 1, 1}};
}

// Copies of A bring rows of the tile along K, or 64 rows and as many steps of K at a time.
template <typename Config>
tile_map_request make_a_map_request(const matrix_params& p)
{
    constexpr bool along_k = Config::a_k_major;
    tile_map_request r     = make_matrix_map_request(p.a,
                                                     along_k ? p.k : p.m,
                                                     along_k ? p.m : p.k,
                                                     p.stride_a,
                                                     p.batch,
                                                     p.batch_stride_a,
                                                     Config::ab_bytes);
    r.box[1]               = along_k ? Config::m : Config::k_elements;
    return r;
}

template <typename Config>
tile_map_request make_b_map_request(const matrix_params& p)
{
    constexpr bool along_k = Config::b_k_major;
    tile_map_request r     = make_matrix_map_request(p.b,
                                                     along_k ? p.k : p.n,
                                                     along_k ? p.n : p.k,
                                                     p.stride_b,
                                                     p.batch,
                                                     p.batch_stride_b,
                                                     Config::ab_bytes);
    r.box[1]               = along_k ? Config::n : Config::k_elements;
    return r;
}

} // namespace ck_tile::cuda_model
