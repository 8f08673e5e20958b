// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ck_tile/host_model/forward.hpp"
#include "ck_tile/host_model/impl/pack.hpp"
#include "ck_tile/host_model/impl/support.hpp"
#include "ck_tile/host_model/split_n.hpp"

namespace ck_tile::host_model::impl {

// Decomposition of the tile's rows, done once per tile: the input position under the first filter tap
// and the offset of that position's first channel from the tensor's start (possibly outside it).
struct forward_row
{
    std::int64_t offset;
    std::int32_t position[3];
};

inline void decompose_rows(const forward_call& call,
                           std::int64_t merged,
                           std::int64_t first_row,
                           std::int64_t first_group,
                           std::int64_t first_image,
                           std::vector<forward_row>& rows)
{
    const conv_shape& s = call.shape;
    for(std::size_t i = 0; i < rows.size(); ++i)
    {
        std::int64_t rest       = first_row + static_cast<std::int64_t>(i);
        const std::int64_t group = first_group + rest % merged;
        rest /= merged;
        std::int64_t at[3];
        for(int axis = 2; axis >= 0; --axis)
        {
            at[axis] = rest % s.output[axis] * s.stride[axis] - s.left_pad[axis];
            rest /= s.output[axis];
        }
        const std::int64_t image = first_image + rest;
        rows[i].offset =
            ((((image * s.input[0] + at[0]) * s.input[1] + at[1]) * s.input[2] + at[2]) * s.G + group) *
            s.C;
        for(int axis = 0; axis < 3; ++axis)
        {
            rows[i].position[axis] = static_cast<std::int32_t>(at[axis]);
        }
    }
}

// Packs kk in [k0, k0 + depth) of all rows. The range is cut into runs of constant filter position
// (z,y,x), inside which channels are contiguous. With one group and no dilation along the last axis,
// x and c together are contiguous too, and the run is over (x,c).
template <typename T>
inline void pack_forward_a(tile_gemm& gemm,
                           const forward_call& call,
                           const std::vector<forward_row>& rows,
                           std::int64_t k0,
                           std::int64_t depth)
{
    const conv_shape& s        = call.shape;
    const T* in                = static_cast<const T*>(call.in);
    const bool fuse_x          = s.G == 1 && s.dilation[2] == 1;
    const std::int64_t x_taps  = fuse_x ? s.filter[2] : 1; // of one run
    const std::int64_t x_runs  = fuse_x ? 1 : s.filter[2];
    const std::int64_t length  = x_taps * s.C;
    const std::int64_t pixel   = s.G * s.C;

    for(std::int64_t done = 0; done < depth;)
    {
        const std::int64_t run   = (k0 + done) / length;
        const std::int64_t begin = (k0 + done) % length;
        const std::int64_t end   = std::min(length, begin + depth - done);
        const std::int64_t dx    = run % x_runs * s.dilation[2];
        const std::int64_t dy    = run / x_runs % s.filter[1] * s.dilation[1];
        const std::int64_t dz    = run / x_runs / s.filter[1] * s.dilation[0];
        const std::int64_t tap   = ((dz * s.input[1] + dy) * s.input[2] + dx) * pixel + begin;
        float* destination       = gemm.a_row(0) + done;

        for(const forward_row& row : rows)
        {
            const std::int64_t x = row.position[2] + dx;
            const bool outside =
                static_cast<std::uint64_t>(row.position[0] + dz) >= static_cast<std::uint64_t>(s.input[0]) ||
                static_cast<std::uint64_t>(row.position[1] + dy) >= static_cast<std::uint64_t>(s.input[1]);
            // Elements of the run that lie inside the image along the last axis.
            std::int64_t first = begin;
            std::int64_t last  = end;
            if(x < 0) { first = std::min(end, std::max(begin, -x * s.C)); }
            if(x + x_taps > s.input[2])
            {
                last = std::max(begin, std::min(end, (s.input[2] - x) * s.C));
            }
            if(outside || first >= last) { zero_run(destination, end - begin); }
            else
            {
                const T* source = in + (row.offset + tap);
                zero_run(destination, first - begin);
                widen_run(source + (first - begin), destination + (first - begin), last - first);
                zero_run(destination + (last - begin), end - last);
            }
            destination += gemm.a_stride();
        }
        done += end - begin;
    }
}

// Converts and stores the tile. Row (n,do,ho,wo,gm) of the GEMM is pixel row/Gm of the output split;
// columns (k,gm') with gm' != gm are products of different groups and are dropped.
template <typename T>
inline void store_forward(const tile_gemm& gemm,
                          const forward_call& call,
                          bf16_rounding_mode rounding,
                          std::int64_t merged,
                          std::int64_t first_row,
                          std::int64_t rows,
                          std::int64_t first_column,
                          std::int64_t columns,
                          std::int64_t first_group,
                          std::int64_t first_image)
{
    const conv_shape& s = call.shape;
    T* out              = static_cast<T*>(call.out) + first_image * volume(s.output) * s.G * s.K;
    for(std::int64_t i = 0; i < rows; ++i)
    {
        const std::int64_t row = first_row + i;
        const float* result    = gemm.result_row(i);
        if(merged == 1)
        {
            T* destination = out + (row * s.G + first_group) * s.K + first_column;
            narrow_run(result, destination, columns, rounding);
            continue;
        }
        const std::int64_t gm = row % merged;
        T* destination        = out + (row / merged * s.G + first_group + gm) * s.K;
        std::int64_t column   = (first_column + merged - 1 - gm) / merged * merged + gm;
        for(; column < first_column + columns; column += merged)
        {
            narrow_run(result + (column - first_column), destination + column / merged, 1, rounding);
        }
    }
}

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API forward_call make_forward_call(const kernel_facts& facts,
                                                      const conv_shape& shape,
                                                      std::int64_t k_batch)
{
    using namespace impl;
    forward_call call{};
    call.shape            = shape;
    call.k_batch          = k_batch;
    call.images_per_split = shape.N >= 1 ? images_per_split(shape) : 1;
    call.image_splits     = (shape.N + call.images_per_split - 1) / call.images_per_split;

    const std::int64_t merged = facts.groups_to_merge;
    const auto size           = [](std::int64_t value) { return std::max<std::int64_t>(value, 0); };
    const auto lengths        = [&](const std::int64_t(&l)[3]) {
        return saturated_product(size(l[0]), size(l[1]), size(l[2]));
    };
    call.gemm.m = saturated_product(call.images_per_split, lengths(shape.output), merged);
    call.gemm.n = saturated_product(size(shape.K), merged);
    call.gemm.k = saturated_product(lengths(shape.filter), size(shape.C));
    call.gemm.batch = size(shape.G) / merged + (size(shape.G) % merged != 0);
    return call;
}

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
    const std::int64_t rows    = std::min<std::int64_t>(facts.m_per_block, call.gemm.m - first_row);
    const std::int64_t columns = std::min<std::int64_t>(facts.n_per_block, call.gemm.n - first_column);
    if(rows <= 0 || columns <= 0) { return; }

    static thread_local std::vector<forward_row> row_table;
    row_table.resize(static_cast<std::size_t>(rows));
    decompose_rows(call, merged, first_row, first_group, first_image, row_table);

    tile_gemm& gemm = thread_tile_gemm();
    gemm.start(rows, columns, facts.k_per_block, facts.accumulators);

    int accumulator = 0;
    for(std::int64_t k0 = 0; k0 < call.gemm.k; k0 += facts.k_per_block)
    {
        const std::int64_t depth = std::min<std::int64_t>(facts.k_per_block, call.gemm.k - k0);
        with_element_type(facts.a_type, [&]<typename T>(T*) {
            pack_forward_a<T>(gemm, call, row_table, k0, depth);
        });
        with_element_type(facts.b_type, [&]<typename T>(T*) {
            const T* wei = static_cast<const T*>(call.wei);
            pack_b_k_contiguous<T>(gemm, columns, depth, [&](std::int64_t column) {
                const std::int64_t at    = first_column + column;
                const std::int64_t group = first_group + at % merged;
                return wei + ((group * call.shape.K + at / merged) * call.gemm.k + k0);
            });
        });
        gemm.multiply(depth, accumulator);
        accumulator = (accumulator + 1) % facts.accumulators;
    }
    if(facts.accumulators == 2) { gemm.add_accumulators(); }

    with_element_type(facts.e_type, [&]<typename T>(T*) {
        store_forward<T>(gemm, call, facts.rounding, merged, first_row, rows, first_column, columns,
                         first_group, first_image);
    });
}

} // namespace ck_tile::host_model
