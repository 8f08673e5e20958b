// SPDX-License-Identifier: MIT
// The tile of one block of a forward kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ck_tile/host_model/forward.hpp"
#include "ck_tile/host_model/impl/integer_sums.hpp"
#include "ck_tile/host_model/impl/pack.hpp"
#include "ck_tile/host_model/impl/window.hpp"

namespace ck_tile::host_model::impl {

inline window forward_window(const forward_call& call)
{
    const conv_shape& s = call.shape;
    return {call.in,
            {s.input[0], s.input[1], s.input[2]},
            s.G,
            s.C,
            {s.filter[0], s.filter[1], s.filter[2]},
            {s.dilation[0], s.dilation[1], s.dilation[2]}};
}

// Combines a run of sums with the D tensors and stores it; it begins at that element of the output,
// at a channel that is counted through all groups.
template <typename T, typename Sum>
inline void combine_forward(const kernel_facts& facts,
                            const forward_call& call,
                            T* run,
                            const Sum* sums,
                            std::int64_t channel,
                            std::int64_t count)
{
    const elementwise_facts& elementwise = facts.elementwise;
    const void* d[most_combined_tensors] = {};
    const std::int64_t offset            = run - static_cast<T*>(call.out);
    for(int i = 0; i < elementwise.d_count; ++i)
    {
        const std::int64_t first = call.elementwise.d_per_channel[i] ? channel : offset;
        d[i]                     = static_cast<const char*>(call.elementwise.d[i]) +
                                   first * size_of(elementwise.d_types[i]);
    }
    elementwise.combine(call.elementwise.functor, run, sums, d, count);
}

// Sums are rounded, then combined; the other way round where 8 bits are left of them.
template <typename T, typename Sum>
inline void store_forward_run(const kernel_facts& facts,
                              const forward_call& call,
                              const Sum* sums,
                              T* run,
                              std::int64_t channel,
                              std::int64_t count)
{
    const bool combines = facts.elementwise.combine != nullptr;
    if constexpr(sizeof(T) == 1)
    {
        if(combines)
        {
            combine_forward(facts, call, run, sums, channel, count);
            return;
        }
    }
    narrow_run(sums, run, count, facts.rounding);
    if(combines) { combine_forward(facts, call, run, run, channel, count); }
}

// Converts, combines and stores the tile. Row (n,do,ho,wo,gm) of the GEMM is pixel row/Gm of the
// output split; columns (k,gm') with gm' != gm are products of different groups and are dropped.
template <typename T, typename SumsOfRow>
inline void store_forward(const SumsOfRow& sums_of_row,
                          const kernel_facts& facts,
                          const forward_call& call,
                          std::int64_t first_row,
                          std::int64_t rows,
                          std::int64_t first_column,
                          std::int64_t columns,
                          std::int64_t first_group,
                          std::int64_t first_image)
{
    const conv_shape& s       = call.shape;
    const std::int64_t merged = facts.groups_to_merge;
    T* out = static_cast<T*>(call.out) + first_image * volume(s.output) * s.G * s.K;
    for(std::int64_t i = 0; i < rows; ++i)
    {
        const std::int64_t row = first_row + i;
        const auto* result     = sums_of_row(i);
        if(merged == 1)
        {
            T* destination = out + (row * s.G + first_group) * s.K + first_column;
            store_forward_run(
                facts, call, result, destination, first_group * s.K + first_column, columns);
            continue;
        }
        const std::int64_t gm = row % merged;
        T* destination        = out + (row / merged * s.G + first_group + gm) * s.K;
        std::int64_t column   = (first_column + merged - 1 - gm) / merged * merged + gm;
        for(; column < first_column + columns; column += merged)
        {
            const std::int64_t k = column / merged;
            store_forward_run(facts,
                              call,
                              result + (column - first_column),
                              destination + k,
                              (first_group + gm) * s.K + k,
                              1);
        }
    }
}

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API void run_forward_block(const kernel_facts& facts,
                                              const forward_call& call,
                                              std::int64_t tile_m,
                                              std::int64_t tile_n,
                                              std::int64_t batch,
                                              std::int64_t split)
{
    using namespace impl;
    const std::int64_t merged       = facts.groups_to_merge;
    const std::int64_t first_group  = batch * merged;
    const std::int64_t first_image  = split * call.images_per_split;
    const std::int64_t first_row    = tile_m * facts.m_per_block;
    const std::int64_t first_column = tile_n * facts.n_per_block;
    const std::int64_t rows = std::min<std::int64_t>(facts.m_per_block, call.gemm.m - first_row);
    const std::int64_t columns =
        std::min<std::int64_t>(facts.n_per_block, call.gemm.n - first_column);
    if(rows <= 0 || columns <= 0) { return; }

    const window w = forward_window(call);
    static thread_local std::vector<window_origin> row_table;
    row_table.resize(static_cast<std::size_t>(rows));
    decompose_rows(w, call.shape, merged, first_row, first_group, first_image, row_table);

    tile_gemm& gemm        = thread_tile_gemm();
    const int accumulators = facts.integer_sums ? 1 : facts.accumulators;
    gemm.start(rows,
               columns,
               facts.k_per_block,
               accumulators,
               call.unit,
               {call.launch, call.gemm.k, tile_n, batch, 0});
    integer_sums& sums = thread_integer_sums();
    if(facts.integer_sums) { sums.start(rows, columns); }

    int accumulator         = 0;
    std::int64_t since_take = 0;
    for(std::int64_t k0 = 0; k0 < call.gemm.k; k0 += gemm.step())
    {
        const std::int64_t depth = std::min(gemm.step(), call.gemm.k - k0);
        const bool pack_b        = gemm.begin_step(depth);
        with_any_operand_type(facts.a_type, gemm, [&]<typename T, typename Element>(T*, Element*) {
            pack_a_windows<Element, T>(gemm, w, row_table, k0);
        });
        if(facts.tf32) { gemm.round_rows(); }
        if(pack_b)
        {
            with_any_operand_type(
                facts.b_type, gemm, [&]<typename T, typename Element>(T*, Element*) {
                    const T* wei = static_cast<const T*>(call.wei);
                    pack_b_k_contiguous<Element, T>(gemm, columns, [&](std::int64_t column) {
                        const std::int64_t at    = first_column + column;
                        const std::int64_t group = first_group + at % merged;
                        return wei + ((group * call.shape.K + at / merged) * call.gemm.k + k0);
                    });
                });
            if(facts.tf32) { gemm.round_columns(); }
        }
        if(facts.integer_sums && since_take + depth > exact_depth)
        {
            sums.take(gemm);
            since_take = 0;
        }
        since_take += depth;
        gemm.multiply(accumulator);
        accumulator = (accumulator + 1) % accumulators;
    }
    if(accumulators == 2) { gemm.add_accumulators(); }

    const auto store = [&]<typename T>(T*, const auto& sums_of_row) {
        store_forward<T>(sums_of_row,
                         facts,
                         call,
                         first_row,
                         rows,
                         first_column,
                         columns,
                         first_group,
                         first_image);
    };
    if(facts.integer_sums)
    {
        sums.take(gemm);
        store(static_cast<std::int8_t*>(nullptr), [&](std::int64_t i) { return sums.row(i); });
        return;
    }
    with_float_type(facts.e_type, [&]<typename T>(T* type) {
        store(type, [&](std::int64_t i) -> const float* { return gemm.result_row(i); });
    });
}

} // namespace ck_tile::host_model
