// SPDX-License-Identifier: MIT
// The tile of one block of a backward-weight kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/impl/pack.hpp"
#include "ck_tile/host_model/impl/store.hpp"
#include "ck_tile/host_model/impl/window.hpp"
#include "ck_tile/host_model/k_split.hpp"

namespace ck_tile::host_model::impl {

// What K part `part` of k_batch covers. Parts can be empty.
inline k_range
split_k(const kernel_facts& facts, const backward_weight_call& call, std::int64_t part)
{
    return facts.explicit_gemm ? split_k_steps(call.gemm.k, call.k_batch, facts.k_mma, part)
                               : split_k_tiles(call.gemm.k, call.k_batch, facts.k_per_block, part);
}

// A tile's place in the GEMM of the groups that start at first_group.
struct weight_tile
{
    std::int64_t first_row, rows;
    std::int64_t first_column, columns;
    std::int64_t first_group;
};

inline weight_tile place_weight_tile(const kernel_facts& facts,
                                     const backward_weight_call& call,
                                     std::int64_t tile_m,
                                     std::int64_t tile_n,
                                     std::int64_t batch)
{
    weight_tile place{};
    place.first_row    = tile_m * facts.m_per_block;
    place.rows         = std::min<std::int64_t>(facts.m_per_block, call.gemm.m - place.first_row);
    place.first_column = tile_n * facts.n_per_block;
    place.columns     = std::min<std::int64_t>(facts.n_per_block, call.gemm.n - place.first_column);
    place.first_group = batch * facts.groups_to_merge;
    return place;
}

// Leaves the sum over a range of k in this thread's accumulators.
inline void accumulate_weights(const kernel_facts& facts,
                               const backward_weight_call& call,
                               const weight_tile& place,
                               const k_range& range)
{
    const conv_shape& s = call.shape;
    const window w{call.in,
                   {s.input[0], s.input[1], s.input[2]},
                   s.G,
                   s.C,
                   {s.filter[0], s.filter[1], s.filter[2]},
                   {s.dilation[0], s.dilation[1], s.dilation[2]}};
    static thread_local std::vector<window_origin> windows;

    tile_gemm& gemm = thread_tile_gemm();
    gemm.start(place.rows, place.columns, facts.k_per_block, facts.accumulators, call.unit);
    int accumulator = 0;
    for(std::int64_t k0 = range.begin; k0 < range.end; k0 += gemm.step())
    {
        gemm.begin_step(std::min(gemm.step(), range.end - k0));
        with_operand_type(facts.a_type, gemm, [&]<typename T, typename Element>(T*, Element*) {
            k_lines<T>& lines = k_lines<T>::of_thread();
            lines.place(static_cast<const T*>(call.out) + place.first_group * s.K +
                            place.first_row + k0 * s.G * s.K,
                        s.G * s.K,
                        gemm.depth());
            pack_a_m_contiguous<Element, T>(gemm, place.rows, lines);
        });
        windows.resize(static_cast<std::size_t>(gemm.depth()));
        decompose_rows(w, s, 1, k0, place.first_group, 0, windows);
        with_operand_type(facts.b_type, gemm, [&]<typename T, typename Element>(T*, Element*) {
            pack_b_windows<Element, T>(
                gemm, w, facts.groups_to_merge * s.C, windows, place.first_column, place.columns);
        });
        if(facts.tf32)
        {
            gemm.round_rows();
            gemm.round_columns();
        }
        gemm.multiply(accumulator);
        accumulator = (accumulator + 1) % facts.accumulators;
    }
    if(facts.accumulators == 2) { gemm.add_accumulators(); }
}

// Stores columns (tap,gm',c) of the rows (gm,k) whose group is that of the column.
template <typename T>
inline void store_weights(const tile_gemm& gemm,
                          const backward_weight_call& call,
                          const store_mode& mode,
                          std::int64_t merged,
                          std::int64_t first_row,
                          std::int64_t rows,
                          std::int64_t first_column,
                          std::int64_t columns,
                          std::int64_t first_group)
{
    const conv_shape& s      = call.shape;
    const std::int64_t taps  = volume(s.filter);
    const std::int64_t width = merged * s.C;
    for(std::int64_t i = 0; i < rows; ++i)
    {
        const std::int64_t row = first_row + i;
        const std::int64_t gm  = row / s.K;
        T* destination =
            static_cast<T*>(call.wei) + ((first_group + gm) * s.K + row % s.K) * taps * s.C;
        const float* result = gemm.result_row(i) - first_column;
        if(merged == 1)
        {
            store_run(result + first_column, destination + first_column, columns, mode);
            continue;
        }
        for(std::int64_t tap = first_column / width; tap * width < first_column + columns; ++tap)
        {
            const std::int64_t own   = tap * width + gm * s.C;
            const std::int64_t begin = std::max(first_column, own);
            const std::int64_t end   = std::min(first_column + columns, own + s.C);
            if(begin < end)
            {
                store_run(
                    result + begin, destination + tap * s.C + (begin - own), end - begin, mode);
            }
        }
    }
}

inline void store_weight_tile(const kernel_facts& facts,
                              const backward_weight_call& call,
                              const weight_tile& place,
                              bool add)
{
    with_element_type(facts.e_type, [&]<typename T>(T*) {
        store_weights<T>(thread_tile_gemm(),
                         call,
                         store_mode{facts.rounding, add},
                         facts.groups_to_merge,
                         place.first_row,
                         place.rows,
                         place.first_column,
                         place.columns,
                         place.first_group);
    });
}

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API void run_backward_weight_block(const kernel_facts& facts,
                                                      const backward_weight_call& call,
                                                      std::int64_t tile_m,
                                                      std::int64_t tile_n,
                                                      const block_position& block)
{
    using namespace impl;
    const weight_tile place = place_weight_tile(facts, call, tile_m, tile_n, block.y);
    if(place.rows <= 0 || place.columns <= 0) { return; }
    accumulate_weights(facts, call, place, split_k(facts, call, block.z));
    const ordered_turn turn(block);
    store_weight_tile(facts, call, place, call.k_batch > 1);
}

} // namespace ck_tile::host_model
