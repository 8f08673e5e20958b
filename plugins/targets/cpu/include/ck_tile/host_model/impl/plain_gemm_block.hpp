// SPDX-License-Identifier: MIT
// The tile of one block of a plain GEMM kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/impl/byte_codes.hpp"
#include "ck_tile/host_model/impl/integer_sums.hpp"
#include "ck_tile/host_model/impl/pack.hpp"
#include "ck_tile/host_model/impl/plain_gemm_split.hpp"
#include "ck_tile/host_model/impl/store.hpp"
#include "ck_tile/host_model/plain_gemm.hpp"

namespace ck_tile::host_model::impl {

// The part of a tile that lies inside the matrices.
struct gemm_tile
{
    std::int64_t first_row, rows;
    std::int64_t first_column, columns;
    std::int64_t batch;
};

inline gemm_tile place_gemm_tile(const plain_gemm_facts& facts,
                                 const plain_gemm_call& call,
                                 std::int64_t tile_m,
                                 std::int64_t tile_n,
                                 std::int64_t batch)
{
    gemm_tile tile{};
    tile.first_row    = tile_m * facts.m_per_block;
    tile.rows         = std::min<std::int64_t>(facts.m_per_block, call.m - tile.first_row);
    tile.first_column = tile_n * facts.n_per_block;
    tile.columns      = std::min<std::int64_t>(facts.n_per_block, call.n - tile.first_column);
    tile.batch        = batch;
    return tile;
}

// A block of an operand: where its first element lies, and how far apart its lines are.
template <typename T>
struct operand_block
{
    const T* first;
    std::int64_t stride;
};

template <typename T>
inline void
pack_gemm_a(tile_gemm& gemm, bool row_major, const operand_block<T>& a, std::int64_t rows)
{
    with_packed_type<T>(gemm, [&]<typename Element>(Element*) {
        if(row_major)
        {
            for(std::int64_t row = 0; row < rows; ++row)
            {
                place_run(a.first + row * a.stride, gemm.a_row<Element>(row), gemm.depth());
            }
            gemm.end_rows();
            return;
        }
        k_lines<T>& lines = k_lines<T>::of_thread();
        lines.place(a.first, a.stride, gemm.depth());
        pack_a_m_contiguous<Element, T>(gemm, rows, lines);
    });
}

template <typename T>
inline void
pack_gemm_b(tile_gemm& gemm, bool row_major, const operand_block<T>& b, std::int64_t columns)
{
    with_packed_type<T>(gemm, [&]<typename Element>(Element*) {
        if(row_major)
        {
            k_lines<T>& lines = k_lines<T>::of_thread();
            lines.place(b.first, b.stride, gemm.depth());
            pack_b_n_contiguous<Element, T>(gemm, columns, lines);
            return;
        }
        pack_b_k_contiguous<Element, T>(
            gemm, columns, [&](std::int64_t column) { return b.first + column * b.stride; });
    });
}

// Calls pack(block) for the part of an operand that starts at `offset` and has `lines` lines of
// `run` elements; 8-bit types are decoded first.
template <typename Pack>
inline void with_operand_block(data_type type,
                               const void* matrix,
                               std::int64_t offset,
                               std::int64_t stride,
                               std::int64_t lines,
                               std::int64_t run,
                               const Pack& pack)
{
    if(size_of(type) == 1)
    {
        static thread_local std::vector<float> decoded;
        const auto* const first = static_cast<const std::uint8_t*>(matrix) + offset;
        pack(operand_block<float>{decode_lines(type, first, stride, lines, run, decoded), run});
        return;
    }
    with_element_type(type, [&]<typename T>(T*) {
        pack(operand_block<T>{static_cast<const T*>(matrix) + offset, stride});
    });
}

// Packs both operands for the K block that starts at k0.
inline void pack_gemm_operands(tile_gemm& gemm,
                               const plain_gemm_facts& facts,
                               const plain_gemm_call& call,
                               const gemm_tile& tile,
                               std::int64_t k0)
{
    const std::int64_t depth = gemm.depth();
    const bool a_row = facts.a_row_major, b_row = facts.b_row_major;
    with_operand_block(
        facts.a_type,
        call.a,
        tile.batch * call.batch_stride_a +
            (a_row ? tile.first_row * call.stride_a + k0 : k0 * call.stride_a + tile.first_row),
        call.stride_a,
        a_row ? tile.rows : depth,
        a_row ? depth : tile.rows,
        [&](const auto& a) { pack_gemm_a(gemm, a_row, a, tile.rows); });
    with_operand_block(facts.b_type,
                       call.b,
                       tile.batch * call.batch_stride_b +
                           (b_row ? k0 * call.stride_b + tile.first_column
                                  : tile.first_column * call.stride_b + k0),
                       call.stride_b,
                       b_row ? depth : tile.columns,
                       b_row ? tile.columns : depth,
                       [&](const auto& b) { pack_gemm_b(gemm, b_row, b, tile.columns); });
}

// Leaves the sum over a range of k in this thread's accumulators or integer sums.
inline void accumulate_gemm(const plain_gemm_facts& facts,
                            const plain_gemm_call& call,
                            const gemm_tile& tile,
                            const k_range& range)
{
    const bool integer     = is_integer(facts.accumulator_type);
    const int accumulators = integer ? 1 : facts.accumulators;
    tile_gemm& gemm        = thread_tile_gemm();
    gemm.start(tile.rows, tile.columns, facts.k_per_block, accumulators, call.unit);
    if(integer) { thread_integer_sums().start(tile.rows, tile.columns); }

    int accumulator         = 0;
    std::int64_t since_take = 0;
    for(std::int64_t k0 = range.begin; k0 < range.end; k0 += gemm.step())
    {
        const std::int64_t depth = std::min(gemm.step(), range.end - k0);
        gemm.begin_step(depth);
        pack_gemm_operands(gemm, facts, call, tile, k0);
        if(integer && since_take + depth > exact_depth)
        {
            thread_integer_sums().take(gemm);
            since_take = 0;
        }
        since_take += depth;
        gemm.multiply(accumulator);
        accumulator = (accumulator + 1) % accumulators;
    }
    if(accumulators == 2) { gemm.add_accumulators(); }
    if(integer) { thread_integer_sums().take(gemm); }
}

// The product, rounded to the result's type, combined with the D tensors in float.
template <typename T>
inline void combine_with_d(const plain_gemm_facts& facts,
                           const plain_gemm_call& call,
                           std::int64_t line,
                           std::int64_t first,
                           bf16_rounding_mode rounding,
                           std::vector<float>& values)
{
    const auto count = static_cast<std::int64_t>(values.size());
    std::vector<T> rounded(values.size());
    std::vector<float> d_values(values.size());
    narrow_run(values.data(), rounded.data(), count, rounding);
    widen_run(rounded.data(), values.data(), count);
    for(int d = 0; d < facts.d_count; ++d)
    {
        with_element_type(facts.d_types[d], [&]<typename D>(D*) {
            widen_run(static_cast<const D*>(call.d[d]) + line * call.stride_d[d] + first,
                      d_values.data(),
                      count);
        });
        for(std::size_t i = 0; i < values.size(); ++i)
        {
            if(facts.operation == d_operation::add) { values[i] += d_values[i]; }
            else
            {
                values[i] *= d_values[i];
            }
        }
    }
}

template <typename T>
inline void store_gemm(const plain_gemm_facts& facts,
                       const plain_gemm_call& call,
                       const gemm_tile& tile,
                       const store_mode& mode)
{
    T* const e            = static_cast<T*>(call.e) + tile.batch * call.batch_stride_e;
    const tile_gemm& gemm = thread_tile_gemm();
    static thread_local std::vector<float> values;
    const auto store_line =
        [&](const float* source, std::int64_t line, std::int64_t first, std::int64_t count) {
            if(facts.d_count > 0)
            {
                values.assign(source, source + count);
                combine_with_d<T>(facts, call, line, first, mode.rounding, values);
                source = values.data();
            }
            store_run(source, e + line * call.stride_e + first, count, mode);
        };
    if(facts.e_row_major)
    {
        for(std::int64_t row = 0; row < tile.rows; ++row)
        {
            store_line(gemm.result_row(row), tile.first_row + row, tile.first_column, tile.columns);
        }
        return;
    }
    static thread_local std::vector<float> gathered;
    gathered.resize(static_cast<std::size_t>(tile.rows));
    for(std::int64_t column = 0; column < tile.columns; ++column)
    {
        for(std::int64_t row = 0; row < tile.rows; ++row)
        {
            gathered[static_cast<std::size_t>(row)] = gemm.result_row(row)[column];
        }
        store_line(gathered.data(), tile.first_column + column, tile.first_row, tile.rows);
    }
}

inline void store_integers(const plain_gemm_facts& facts,
                           const plain_gemm_call& call,
                           const gemm_tile& tile,
                           bool add)
{
    auto* const e = static_cast<std::int32_t*>(call.e) + tile.batch * call.batch_stride_e;
    const integer_sums& sums = thread_integer_sums();
    for(std::int64_t row = 0; row < tile.rows; ++row)
    {
        for(std::int64_t column = 0; column < tile.columns; ++column)
        {
            const std::int64_t m = tile.first_row + row, n = tile.first_column + column;
            std::int32_t& at = e[facts.e_row_major ? m * call.stride_e + n : n * call.stride_e + m];
            const auto before = add ? static_cast<std::uint32_t>(at) : 0u;
            at = static_cast<std::int32_t>(before +
                                           static_cast<std::uint32_t>(sums.at(row, column)));
        }
    }
}

inline void
store_gemm_tile(const plain_gemm_facts& facts, const plain_gemm_call& call, const gemm_tile& tile)
{
    const bool add = facts.store == gemm_store::by_split_k ? call.k_batch > 1
                                                           : facts.store == gemm_store::atomic_add;
    if(is_integer(facts.accumulator_type))
    {
        store_integers(facts, call, tile, add);
        return;
    }
    with_element_type(facts.e_type, [&]<typename T>(T*) {
        store_gemm<T>(facts, call, tile, store_mode{facts.rounding, add});
    });
}

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API void run_plain_gemm_block(const plain_gemm_facts& facts,
                                                 const plain_gemm_call& call,
                                                 std::int64_t tile_m,
                                                 std::int64_t tile_n,
                                                 const block_position& block)
{
    using namespace impl;
    const gemm_tile tile = place_gemm_tile(facts, call, tile_m, tile_n, block.y);
    if(tile.rows <= 0 || tile.columns <= 0) { return; }
    accumulate_gemm(facts, call, tile, split_k(facts, call, block.z));
    const ordered_turn turn(block);
    store_gemm_tile(facts, call, tile);
}

CK_TILE_HOST_MODEL_API void run_plain_gemm_tile(const plain_gemm_facts& facts,
                                                const plain_gemm_call& call,
                                                std::int64_t tile_m,
                                                std::int64_t tile_n)
{
    using namespace impl;
    const gemm_tile tile = place_gemm_tile(facts, call, tile_m, tile_n, 0);
    if(tile.rows <= 0 || tile.columns <= 0) { return; }
    for(std::int64_t part = 0; part < call.k_batch; ++part)
    {
        accumulate_gemm(facts, call, tile, split_k(facts, call, part));
        store_gemm_tile(facts, call, tile);
    }
}

} // namespace ck_tile::host_model
