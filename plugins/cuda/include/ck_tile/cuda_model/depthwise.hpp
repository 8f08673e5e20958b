// SPDX-License-Identifier: MIT
// Depthwise forward convolution: a block stages padded input tiles of one channel and every thread
// computes one patch of outputs.
#pragma once

#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/host_model/depthwise.hpp"

namespace ck_tile::cuda_model {

struct depthwise_params
{
    const void* in;
    const void* wei;
    void* out;
    int groups, images;
    int input[2], output[2]; // height, width
    int batches;             // of images, along the grid
};

inline depthwise_params make_depthwise_params(const host_model::depthwise_facts& facts,
                                              const host_model::depthwise_call& call)
{
    const host_model::conv_shape& s = call.shape;
    depthwise_params p{};
    p.in      = call.in;
    p.wei     = call.wei;
    p.out     = call.out;
    p.groups  = static_cast<int>(s.G);
    p.images  = static_cast<int>(s.N);
    p.batches = static_cast<int>((s.N + facts.batch - 1) / facts.batch);
    for(int axis = 0; axis < 2; ++axis)
    {
        p.input[axis]  = static_cast<int>(s.input[axis + 1]);
        p.output[axis] = static_cast<int>(s.output[axis + 1]);
    }
    return p;
}

template <typename Traits>
struct depthwise_tile
{
    static constexpr host_model::depthwise_facts facts = Traits::facts;

    static constexpr int patches_w = (facts.tile[1] + facts.sub_tile[1] - 1) / facts.sub_tile[1];
    static constexpr int patches_h = (facts.tile[0] + facts.sub_tile[0] - 1) / facts.sub_tile[0];
    static constexpr int slots     = facts.tiles_at_once();
    static constexpr int per_slot  = facts.block_size / slots;
    static constexpr int rows      = facts.lds_rows();
    static constexpr int columns   = facts.lds_columns();
    // An odd number of 4-byte words, so that rows start in different banks.
    static constexpr int element_bytes = host_model::size_of(facts.in_type);
    static constexpr int row_words     = (columns * element_bytes + 3) / 4;
    static constexpr int row_elements  = (row_words | 1) * 4 / element_bytes;
    static constexpr int taps          = facts.filter[0] * facts.filter[1];
    static constexpr int bytes         = rows * row_elements * slots * element_bytes;
};

template <typename Traits, typename Tag>
__global__ void __launch_bounds__(Traits::BlockSize)
    depthwise(const __grid_constant__ depthwise_params p)
{
    using tile                                  = depthwise_tile<Traits>;
    constexpr host_model::depthwise_facts facts = Traits::facts;
    using in_element                            = stored_t<facts.in_type>;
    using wei_element                           = stored_t<facts.wei_type>;
    using out_element                           = stored_t<facts.out_type>;
    constexpr int sub_h = facts.sub_tile[0], sub_w = facts.sub_tile[1];
    constexpr int stride_h = facts.stride[0], stride_w = facts.stride[1];

    extern __shared__ __align__(128) char shared[];
    auto* staged = reinterpret_cast<in_element*>(shared);
    __shared__ float weights[tile::taps];

    // Groups fastest: blocks that run together read neighbouring channels.
    const int group = blockIdx.x % p.groups, batch = blockIdx.x / p.groups;
    for(int i = threadIdx.x; i < tile::taps; i += facts.block_size)
    {
        weights[i] = widen<facts.wei_type>(static_cast<const wei_element*>(
            p.wei)[static_cast<std::int64_t>(group) * tile::taps + i]);
    }

    const int thread = threadIdx.x;
    const int slot = thread / tile::per_slot, place = thread % tile::per_slot;
    const bool works  = slot < tile::slots && place < tile::patches_h * tile::patches_w;
    const int patch_y = place / tile::patches_w * sub_h, patch_x = place % tile::patches_w * sub_w;
    const int tiles_w = (p.output[1] + facts.tile[1] - 1) / facts.tile[1];
    const int tiles_h = (p.output[0] + facts.tile[0] - 1) / facts.tile[0];
    const int in_area = p.input[0] * p.input[1], out_area = p.output[0] * p.output[1];

    for(int step = 0; step < facts.batch / tile::slots; ++step)
    {
        const int first_image = batch * facts.batch + step * tile::slots;
        for(int tile_number = 0; tile_number < tiles_h * tiles_w; ++tile_number)
        {
            const int out_y = tile_number / tiles_w * facts.tile[0];
            const int out_x = tile_number % tiles_w * facts.tile[1];
            __syncthreads();
            constexpr int staged_all = tile::slots * tile::rows * tile::columns;
            for(int i = thread; i < staged_all; i += facts.block_size)
            {
                const int x = i % tile::columns, rest = i / tile::columns;
                const int y = rest % tile::rows, image = rest / tile::rows;
                const int from_y = out_y * stride_h - facts.pad[0] + y;
                const int from_x = out_x * stride_w - facts.pad[1] + x;
                const bool inside =
                    static_cast<unsigned>(from_y) < static_cast<unsigned>(p.input[0]) &&
                    static_cast<unsigned>(from_x) < static_cast<unsigned>(p.input[1]) &&
                    first_image + image < p.images;
                in_element value{};
                if(inside)
                {
                    value = static_cast<const in_element*>(
                        p.in)[(static_cast<std::int64_t>(first_image + image) * p.groups + group) *
                                  in_area +
                              from_y * p.input[1] + from_x];
                }
                staged[(image * tile::rows + y) * tile::row_elements + x] = value;
            }
            __syncthreads();
            if(!works) { continue; }

            float sum[sub_h][sub_w] = {};
            // Every staged row is read once and meets all rows of the filter that use it.
            constexpr int span = (sub_w - 1) * stride_w + facts.filter[1];
#pragma unroll
            for(int y = 0; y < (sub_h - 1) * stride_h + facts.filter[0]; ++y)
            {
                const in_element* row =
                    staged + (slot * tile::rows + patch_y * stride_h + y) * tile::row_elements +
                    patch_x * stride_w;
                float values[span];
                const bool there = patch_y * stride_h + y < tile::rows;
#pragma unroll
                for(int x = 0; x < span; ++x)
                {
                    values[x] = there && patch_x * stride_w + x < tile::columns
                                    ? widen<facts.in_type>(row[x])
                                    : 0.f;
                }
#pragma unroll
                for(int i = 0; i < sub_h; ++i)
                {
                    const int filter_y = y - i * stride_h;
                    if(filter_y < 0 || filter_y >= facts.filter[0]) { continue; }
#pragma unroll
                    for(int filter_x = 0; filter_x < facts.filter[1]; ++filter_x)
                    {
                        const float weight = weights[filter_y * facts.filter[1] + filter_x];
#pragma unroll
                        for(int j = 0; j < sub_w; ++j)
                        {
                            sum[i][j] =
                                __fmaf_rn(values[j * stride_w + filter_x], weight, sum[i][j]);
                        }
                    }
                }
            }

            if(first_image + slot >= p.images) { continue; }
            auto* out =
                static_cast<out_element*>(p.out) +
                (static_cast<std::int64_t>(first_image + slot) * p.groups + group) * out_area;
#pragma unroll
            for(int i = 0; i < sub_h; ++i)
            {
                const int y = out_y + patch_y + i;
                if(patch_y + i >= facts.tile[0] || y >= p.output[0]) { continue; }
#pragma unroll
                for(int j = 0; j < sub_w; ++j)
                {
                    const int x = out_x + patch_x + j;
                    if(patch_x + j >= facts.tile[1] || x >= p.output[1]) { continue; }
                    out[y * p.output[1] + x] = narrow<facts.out_type, facts.rounding>(sum[i][j]);
                }
            }
        }
    }
}

} // namespace ck_tile::cuda_model
