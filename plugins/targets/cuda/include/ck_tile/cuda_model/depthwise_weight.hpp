// SPDX-License-Identifier: MIT
// Weight gradients of groups with one channel: no products are shared, so that a GEMM of joined
// groups would compute 64 times too many. A lane has four channels, a warp one row of the filter
// and some rows of the output; blocks leave partial sums, which a second kernel adds in a fixed
// order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/host_model/conv_shape.hpp"

namespace ck_tile::cuda_model {

inline constexpr int depthwise_lane      = 4;                   // channels of a lane
inline constexpr int depthwise_channels  = 32 * depthwise_lane; // of a block
inline constexpr int depthwise_most_rows = 7;                   // of a filter: warps of a block
inline constexpr int depthwise_adders    = 8; // warps that share the parts of a sum
inline constexpr int depthwise_resident  = 2; // blocks of a multiprocessor

// Images are N,H,W,G in memory, weights G,Y,X.
struct depthwise_weight_params
{
    const void* in;
    const void* out; // gradients
    float* partial;  // part, y, x, g
    void* result;
    int groups;
    int input[2], output[2]; // height, width
    int filter[2];
    int stride_h, dilation_h;
    int pad[2];
    int rows;      // of output, of all images
    int part_rows; // of those, what a block adds
    int parts;
};

constexpr int depthwise_chunks(std::int64_t groups)
{ return static_cast<int>((groups + depthwise_channels - 1) / depthwise_channels); }

// Whether the kernel below computes that; others are left to implicit GEMM.
constexpr bool is_depthwise_weight(const host_model::conv_shape& s)
{
    const bool flat = s.filter[0] == 1 && s.input[0] == 1 && s.output[0] == 1;
    const bool wide = s.filter[2] == 3 || s.filter[2] == 5 || s.filter[2] == 7;
    return flat && s.C == 1 && s.K == 1 && s.G % depthwise_lane == 0 && wide &&
           s.filter[1] <= depthwise_most_rows && (s.stride[2] == 1 || s.stride[2] == 2) &&
           s.dilation[2] == 1 && s.N * s.output[1] <= 1 << 30;
}

// `slots`: blocks that the device runs at the same time.
inline depthwise_weight_params make_depthwise_weight_params(const host_model::conv_shape& s,
                                                            int slots)
{
    depthwise_weight_params p{};
    p.groups     = static_cast<int>(s.G);
    p.stride_h   = static_cast<int>(s.stride[1]);
    p.dilation_h = static_cast<int>(s.dilation[1]);
    for(int axis = 0; axis < 2; ++axis)
    {
        p.input[axis]  = static_cast<int>(s.input[axis + 1]);
        p.output[axis] = static_cast<int>(s.output[axis + 1]);
        p.filter[axis] = static_cast<int>(s.filter[axis + 1]);
        p.pad[axis]    = static_cast<int>(s.left_pad[axis + 1]);
    }
    p.rows           = static_cast<int>(s.N * s.output[1]);
    const int wanted = std::max(1, slots / depthwise_chunks(s.G));
    p.part_rows      = std::max(1, (p.rows + wanted - 1) / wanted);
    p.parts          = (p.rows + p.part_rows - 1) / p.part_rows;
    return p;
}

// Neighbouring channels, as they are in memory.
template <host_model::data_type Type>
struct lane_channels
{
    static constexpr int bytes = depthwise_lane * static_cast<int>(sizeof(stored_t<Type>));
    alignas(bytes) std::uint32_t words[bytes / 4];

    __device__ __forceinline__ float get(int channel) const
    {
        if constexpr(bytes == 4 * depthwise_lane) { return std::bit_cast<float>(words[channel]); }
        else
        {
            return widen<Type>(static_cast<std::uint16_t>(words[channel / 2] >> channel % 2 * 16));
        }
    }
};

// Zeros where there is nothing.
template <host_model::data_type Type>
__device__ __forceinline__ lane_channels<Type> bring(const stored_t<Type>* from, bool exists)
{
    lane_channels<Type> found{};
    if(exists) { found = *reinterpret_cast<const lane_channels<Type>*>(from); }
    return found;
}

template <host_model::data_type Type>
__device__ __forceinline__ void
bring_values(const stored_t<Type>* from, bool exists, float (&to)[depthwise_lane])
{
    const lane_channels<Type> found = bring<Type>(from, exists);
#pragma unroll
    for(int c = 0; c < depthwise_lane; ++c) { to[c] = found.get(c); }
}

// One block: `filter[0]` warps.
template <host_model::data_type Type, int Width, int Stride>
__global__ void __launch_bounds__(32 * depthwise_most_rows, depthwise_resident)
    depthwise_weight(const __grid_constant__ depthwise_weight_params p)
{
    using element = stored_t<Type>;
    // So many neighbouring outputs at a time; what their windows cover, and share with the next.
    constexpr int outputs = Width, span = (outputs - 1) * Stride + Width;
    constexpr int step = outputs * Stride, kept = span - step;
    static_assert(Stride < Width);

    const int chunks   = depthwise_chunks(p.groups);
    const int channel  = static_cast<int>(blockIdx.x) % chunks * depthwise_channels +
                         static_cast<int>(threadIdx.x) % 32 * depthwise_lane;
    const int part     = static_cast<int>(blockIdx.x) / chunks;
    const int filter_y = static_cast<int>(threadIdx.x) / 32;
    if(channel >= p.groups) { return; }

    const auto columns               = static_cast<unsigned>(p.input[1]);
    const int pitch                  = p.groups;
    float sum[Width][depthwise_lane] = {};
    const int end                    = std::min(p.rows, (part + 1) * p.part_rows);
    for(int row = part * p.part_rows; row < end; ++row)
    {
        const int image = row / p.output[0];
        const int y     = row % p.output[0] * p.stride_h - p.pad[0] + filter_y * p.dilation_h;
        if(static_cast<unsigned>(y) >= static_cast<unsigned>(p.input[0])) { continue; }
        const auto* in =
            static_cast<const element*>(p.in) +
            (static_cast<std::int64_t>(image) * p.input[0] + y) * p.input[1] * p.groups + channel -
            static_cast<std::int64_t>(p.pad[1]) * p.groups;
        const auto* out = static_cast<const element*>(p.out) +
                          static_cast<std::int64_t>(row) * p.output[1] * p.groups + channel;
        int next        = -p.pad[1]; // the column that `in` stands for
        float values[span][depthwise_lane];
#pragma unroll
        for(int i = 0; i < kept; ++i)
        {
            bring_values<Type>(in, static_cast<unsigned>(next) < columns, values[i]);
            in += pitch;
            ++next;
        }
        for(int left = p.output[1]; left > 0; left -= outputs)
        {
            lane_channels<Type> gradients[outputs];
            // Most windows lie in the image, and need no more tests.
            const bool inside = left >= outputs && next >= 0 && next + step <= p.input[1];
#pragma unroll
            for(int i = 0; i < step; ++i)
            {
                bring_values<Type>(
                    in, inside || static_cast<unsigned>(next + i) < columns, values[kept + i]);
                in += pitch;
            }
            next += step;
#pragma unroll
            for(int i = 0; i < outputs; ++i)
            {
                gradients[i] = bring<Type>(out, inside || i < left);
                out += pitch;
            }
#pragma unroll
            for(int i = 0; i < outputs; ++i)
            {
#pragma unroll
                for(int c = 0; c < depthwise_lane; ++c)
                {
                    const float gradient = gradients[i].get(c);
#pragma unroll
                    for(int x = 0; x < Width; ++x)
                    {
                        sum[x][c] += gradient * values[i * Stride + x][c];
                    }
                }
            }
#pragma unroll
            for(int i = 0; i < kept; ++i)
            {
#pragma unroll
                for(int c = 0; c < depthwise_lane; ++c) { values[i][c] = values[i + step][c]; }
            }
        }
    }
    float* partial = p.partial +
                     (static_cast<std::int64_t>(part) * p.filter[0] + filter_y) * Width * p.groups +
                     channel;
#pragma unroll
    for(int x = 0; x < Width; ++x)
    {
#pragma unroll
        for(int c = 0; c < depthwise_lane; ++c) { partial[c] = sum[x][c]; }
        partial += pitch;
    }
}

// Adds the parts of 32 neighbouring sums.
template <host_model::data_type Type, bf16_rounding_mode Rounding>
__global__ void __launch_bounds__(32 * depthwise_adders)
    add_depthwise_parts(const __grid_constant__ depthwise_weight_params p)
{
    extern __shared__ __align__(128) char shared[];
    auto* sums       = reinterpret_cast<float (*)[32]>(shared);
    const int lane   = static_cast<int>(threadIdx.x) % 32;
    const int adder  = static_cast<int>(threadIdx.x) / 32;
    const int taps   = p.filter[0] * p.filter[1];
    const int number = static_cast<int>(blockIdx.x) * 32 + lane; // of tap and group
    float sum        = 0.f;
    if(number < taps * p.groups)
    {
#pragma unroll 8
        for(int part = adder; part < p.parts; part += depthwise_adders)
        {
            sum += p.partial[static_cast<std::int64_t>(part) * taps * p.groups + number];
        }
    }
    sums[adder][lane] = sum;
    __syncthreads();
    if(adder != 0 || number >= taps * p.groups) { return; }
    for(int other = 1; other < depthwise_adders; ++other) { sum += sums[other][lane]; }
    const int tap = number / p.groups, group = number % p.groups;
    static_cast<stored_t<Type>*>(p.result)[static_cast<std::int64_t>(group) * taps + tap] =
        narrow<Type, Rounding>(sum);
}

} // namespace ck_tile::cuda_model
