// SPDX-License-Identifier: MIT
// The tile of one block of a backward-data kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ck_tile/host_model/backward_data.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/impl/pack.hpp"
#include "ck_tile/host_model/impl/store.hpp"
#include "ck_tile/host_model/impl/window.hpp"
#include "ck_tile/host_model/k_split.hpp"

namespace ck_tile::host_model::impl {

// Input element of a row, from the tensor's start and for group 0; negative if outside the image.
inline std::int64_t input_pixel(const backward_data_call& call,
                                const backward_data_gemm& gemm,
                                std::int64_t image,
                                const std::int64_t (&t)[3])
{
    const conv_shape& s = call.shape;
    std::int64_t pixel  = image;
    for(int axis = 0; axis < 3; ++axis)
    {
        const std::int64_t position =
            gemm.remainder[axis] * s.dilation[axis] + t[axis] * s.stride[axis] - s.left_pad[axis];
        if(position < 0 || position >= s.input[axis]) { return -1; }
        pixel = pixel * s.input[axis] + position;
    }
    return pixel;
}

// Where the weights of k in [k0, k0 + depth), k = (taps of the sub-GEMM, K), start at a channel.
template <typename T>
inline void find_weight_lines(const backward_data_call& call,
                              const backward_data_gemm& gemm,
                              std::int64_t group,
                              std::int64_t k0,
                              std::int64_t depth,
                              std::int64_t channel,
                              std::vector<const T*>& lines)
{
    const conv_shape& s       = call.shape;
    const std::int64_t stride = volume(s.filter) * s.C;
    const T* const first      = static_cast<const T*>(call.wei) + group * s.K * stride + channel;
    lines.clear();
    for(std::int64_t at = k0; at < k0 + depth;)
    {
        const std::int64_t tap = at / s.K, begin = at % s.K;
        const std::int64_t end = std::min(s.K, begin + k0 + depth - at);
        const std::int64_t x   = tap % gemm.taps[2] * call.tilde[2] + gemm.remainder[2];
        const std::int64_t y =
            tap / gemm.taps[2] % gemm.taps[1] * call.tilde[1] + gemm.remainder[1];
        const std::int64_t d =
            tap / gemm.taps[2] / gemm.taps[1] * call.tilde[0] + gemm.remainder[0];
        const std::int64_t filter = (d * s.filter[1] + y) * s.filter[2] + x;
        for(std::int64_t k = begin; k < end; ++k)
        {
            lines.push_back(first + k * stride + filter * s.C);
        }
        at += end - begin;
    }
}

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API void run_backward_data_block(const kernel_facts& facts,
                                                    const backward_data_call& call,
                                                    const backward_data_gemm& sub,
                                                    std::int64_t tile_m,
                                                    std::int64_t tile_n,
                                                    const block_position& block)
{
    using namespace impl;
    const conv_shape& s             = call.shape;
    const std::int64_t group        = block.y;
    const std::int64_t z            = block.z;
    const std::int64_t first_image  = z / call.k_batch * call.images_per_split;
    const std::int64_t part         = z % call.k_batch;
    const std::int64_t first_row    = tile_m * facts.m_per_block;
    const std::int64_t first_column = tile_n * facts.n_per_block;
    const std::int64_t rows = std::min<std::int64_t>(facts.m_per_block, call.gemm.m - first_row);
    const std::int64_t columns =
        std::min<std::int64_t>(facts.n_per_block, call.gemm.n - first_column);
    if(rows <= 0 || columns <= 0) { return; }

    const auto [k_begin, k_end] = split_k_tiles(sub.k, call.k_batch, facts.k_per_block, part);

    const window w{call.out,
                   {s.output[0], s.output[1], s.output[2]},
                   s.G,
                   s.K,
                   {sub.taps[0], sub.taps[1], sub.taps[2]},
                   {-call.output_steps[0], -call.output_steps[1], -call.output_steps[2]}};

    static thread_local std::vector<window_origin> origins;
    static thread_local std::vector<std::int64_t> pixels;
    origins.resize(static_cast<std::size_t>(rows));
    pixels.resize(static_cast<std::size_t>(rows));
    for(std::int64_t i = 0; i < rows; ++i)
    {
        std::int64_t rest = first_row + i;
        std::int64_t t[3];
        for(int axis = 2; axis >= 0; --axis)
        {
            const std::int64_t positions = call.t_end[axis] - call.t_begin[axis];
            t[axis]                      = call.t_begin[axis] + rest % positions;
            rest /= positions;
        }
        const std::int64_t image             = first_image + rest;
        origins[static_cast<std::size_t>(i)] = make_origin(w, image, t, group);
        pixels[static_cast<std::size_t>(i)]  = input_pixel(call, sub, image, t);
    }

    tile_gemm& gemm = thread_tile_gemm();
    gemm.start(
        rows,
        columns,
        facts.k_per_block,
        facts.accumulators,
        call.unit,
        {call.launch, k_end - k_begin, tile_n, group, sub.first_block * call.k_batch + part});
    int accumulator = 0;
    for(std::int64_t k0 = k_begin; k0 < k_end; k0 += gemm.step())
    {
        const bool pack_b = gemm.begin_step(std::min(gemm.step(), k_end - k0));
        with_operand_type(facts.a_type, gemm, [&]<typename T, typename Element>(T*, Element*) {
            pack_a_windows<Element, T>(gemm, w, origins, k0);
        });
        if(facts.tf32) { gemm.round_rows(); }
        if(pack_b)
        {
            with_operand_type(facts.b_type, gemm, [&]<typename T, typename Element>(T*, Element*) {
                k_lines<T>& lines = k_lines<T>::of_thread();
                find_weight_lines(call, sub, group, k0, gemm.depth(), first_column, lines.starts);
                pack_b_n_contiguous<Element, T>(gemm, columns, lines);
            });
            if(facts.tf32) { gemm.round_columns(); }
        }
        gemm.multiply(accumulator);
        accumulator = (accumulator + 1) % facts.accumulators;
    }
    if(facts.accumulators == 2) { gemm.add_accumulators(); }

    const ordered_turn turn(block);
    with_element_type(facts.e_type, [&]<typename T>(T*) {
        const store_mode mode{facts.rounding, call.k_batch > 1};
        for(std::int64_t i = 0; i < rows; ++i)
        {
            const std::int64_t pixel = pixels[static_cast<std::size_t>(i)];
            if(pixel < 0) { continue; }
            T* destination =
                static_cast<T*>(call.in) + ((pixel * s.G + group) * s.C + first_column);
            store_run(gemm.result_row(i), destination, columns, mode);
        }
    });
}

} // namespace ck_tile::host_model
