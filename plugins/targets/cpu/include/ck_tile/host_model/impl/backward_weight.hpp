// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/impl/pack.hpp"
#include "ck_tile/host_model/impl/store.hpp"
#include "ck_tile/host_model/impl/support.hpp"
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
    static thread_local std::vector<float> scratch;

    tile_gemm& gemm = thread_tile_gemm();
    gemm.start(place.rows, place.columns, facts.k_per_block, facts.accumulators);
    int accumulator = 0;
    for(std::int64_t k0 = range.begin; k0 < range.end; k0 += facts.k_per_block)
    {
        const std::int64_t depth = std::min<std::int64_t>(facts.k_per_block, range.end - k0);
        with_element_type(facts.a_type, [&]<typename T>(T*) {
            const T* out =
                static_cast<const T*>(call.out) + (place.first_group * s.K + place.first_row);
            pack_a_m_contiguous<T>(gemm, place.rows, depth, [&](std::int64_t k) {
                return out + (k0 + k) * s.G * s.K;
            });
        });
        windows.resize(static_cast<std::size_t>(depth));
        decompose_rows(w, s, 1, k0, place.first_group, 0, windows);
        with_element_type(facts.b_type, [&]<typename T>(T*) {
            pack_b_windows<T>(gemm,
                              w,
                              facts.groups_to_merge * s.C,
                              windows,
                              place.first_column,
                              place.columns,
                              scratch);
        });
        if(facts.tf32) { gemm.round_operands(depth); }
        gemm.multiply(depth, accumulator);
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

CK_TILE_HOST_MODEL_API int estimated_occupancy(const kernel_facts& facts)
{
    const device_model& device = current_device();
    const int tiles            = facts.k_per_block * (facts.m_per_block * size_of(facts.a_type) +
                                                      facts.n_per_block * size_of(facts.b_type));
    const int by_lds           = device.lds_bytes / (facts.double_smem_buffer ? 2 * tiles : tiles);
    const int by_waves         = device.max_waves_per_cu * device.lanes / facts.block_size;
    return std::max(1, std::min(by_lds, by_waves));
}

CK_TILE_HOST_MODEL_API std::int64_t automatic_k_batch(const kernel_facts& facts,
                                                      const gemm_sizes& gemm)
{
    const std::int64_t tiles = (gemm.m + facts.m_per_block - 1) / facts.m_per_block *
                               ((gemm.n + facts.n_per_block - 1) / facts.n_per_block) * gemm.batch;
    const std::int64_t slots =
        std::int64_t{estimated_occupancy(facts)} * current_device().compute_units;
    return std::min(std::max<std::int64_t>(slots / tiles, 1), gemm.k);
}

CK_TILE_HOST_MODEL_API backward_weight_call make_backward_weight_call(const kernel_facts& facts,
                                                                      const conv_shape& shape,
                                                                      std::int64_t k_batch)
{
    using namespace impl;
    backward_weight_call call{};
    call.shape   = shape;
    call.k_batch = std::max<std::int64_t>(k_batch, 0);
    if(!check_problem(shape)) { return call; }
    const std::int64_t merged = facts.groups_to_merge;
    call.gemm.m               = saturated_product(shape.K, merged);
    call.gemm.n               = saturated_product(saturated_volume(shape.filter), shape.C, merged);
    call.gemm.k               = saturated_product(shape.N, saturated_volume(shape.output));
    call.gemm.batch           = shape.G / merged + (shape.G % merged != 0);
    if(k_batch < 0) { call.k_batch = facts.stream_k ? 1 : automatic_k_batch(facts, call.gemm); }
    return call;
}

CK_TILE_HOST_MODEL_API bool supports_backward_weight(const kernel_facts& facts,
                                                     const backward_weight_call& call)
{
    using namespace impl;
    const conv_shape& shape    = call.shape;
    const std::int64_t k_batch = call.k_batch;
    clear_rejection();
    if(!check_problem(shape) || !check_async(facts)) { return false; }
    if(facts.stream_k)
    {
        if(!current_device().has("stream_k") &&
           !reject("stream-k-device",
                   "stream-K runs on " + device_names("stream_k") + "; the device is " +
                       current_device().name))
        {
            return false;
        }
        if(k_batch != 1 &&
           !reject("split-k", equation("k_batch", k_batch) + ": stream-K does not split K"))
        {
            return false;
        }
    }
    if(k_batch < 1)
    {
        // Nothing below makes sense without.
        check_at_least("split-k", "k_batch", k_batch, 1);
        return false;
    }
    // CK Tile counts the tiles of all groups together and leaves the last groups unwritten.
    if(facts.stream_k && call.gemm.batch > 1 && call.gemm.m % facts.m_per_block != 0 &&
       !reject("stream-k-groups",
               "stream-K with several groups needs " + equation("GemmM", call.gemm.m) +
                   " to be a multiple of the tile's " + std::to_string(facts.m_per_block) +
                   " rows"))
    {
        return false;
    }
    const std::int64_t loops =
        (call.gemm.k - 1) / saturated_product(k_batch, facts.k_per_block) + 1;
    if(loops < facts.min_loops_per_split &&
       !reject("pipeline-depth",
               "the pipeline " + std::string(facts.pipeline_name) + " needs " +
                   std::to_string(facts.min_loops_per_split) + " K blocks per split, GemmK = " +
                   std::to_string(call.gemm.k) + " gives " + std::to_string(loops)))
    {
        return false;
    }
    if(facts.bounds_splits && facts.e_type != data_type::fp32 && k_batch > 128 &&
       !reject("split-k-atomics",
               equation("k_batch", k_batch) + " is more than 128 additions in 16 bits allow"))
    {
        return false;
    }
    if(!check_odd_atomics(facts.vector_size_c, facts.e_type, k_batch)) { return false; }
    const std::int64_t steps = (call.gemm.k - 1) / facts.k_mma + 1;
    if(facts.bounds_splits && !facts.stream_k && steps < k_batch &&
       !reject("split-k",
               equation("k_batch", k_batch) + " is more than the " + std::to_string(steps) +
                   " MMA steps of GemmK = " + std::to_string(call.gemm.k)))
    {
        return false;
    }
    if(!check_specialization(facts, shape) || !check_explicit(facts) ||
       !check_layout("input", facts.in_layout, facts.in_layout_known) ||
       !check_multiple("C", shape.C, 'B', facts.vector_size_b) ||
       !check_layout("weight", facts.wei_layout, facts.wei_layout_known) ||
       !check_multiple("C", shape.C, 'C', facts.vector_size_c) ||
       !check_layout("output", facts.out_layout, facts.out_layout_known) ||
       !check_multiple("K", shape.K, 'A', facts.vector_size_a) || !check_whole_merges(facts, shape))
    {
        return false;
    }
    return check_index("GemmM padded to the tile", call.gemm.m + facts.m_per_block - 1) &&
           check_index("GemmN padded to the tile", call.gemm.n + facts.n_per_block - 1) &&
           check_index("GemmK", call.gemm.k);
}

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
