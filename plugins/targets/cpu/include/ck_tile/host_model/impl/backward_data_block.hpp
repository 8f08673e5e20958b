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
    gemm.start(rows, columns, facts.k_per_block, facts.accumulators);
    int accumulator = 0;
    for(std::int64_t k0 = k_begin; k0 < k_end; k0 += facts.k_per_block)
    {
        const std::int64_t depth = std::min<std::int64_t>(facts.k_per_block, k_end - k0);
        with_element_type(facts.a_type,
                          [&]<typename T>(T*) { pack_a_windows<T>(gemm, w, origins, k0, depth); });
        with_element_type(facts.b_type, [&]<typename T>(T*) {
            const T* wei = static_cast<const T*>(call.wei);
            pack_b_n_contiguous<T>(gemm, columns, depth, [&](std::int64_t k) {
                const std::int64_t at  = k0 + k;
                const std::int64_t tap = at / s.K;
                const std::int64_t x   = tap % sub.taps[2] * call.tilde[2] + sub.remainder[2];
                const std::int64_t y =
                    tap / sub.taps[2] % sub.taps[1] * call.tilde[1] + sub.remainder[1];
                const std::int64_t d =
                    tap / sub.taps[2] / sub.taps[1] * call.tilde[0] + sub.remainder[0];
                const std::int64_t filter = (d * s.filter[1] + y) * s.filter[2] + x;
                return wei + (((group * s.K + at % s.K) * volume(s.filter) + filter) * s.C +
                              first_column);
            });
        });
        if(facts.tf32) { gemm.round_operands(depth); }
        gemm.multiply(depth, accumulator);
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
