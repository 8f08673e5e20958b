// SPDX-License-Identifier: MIT
// The side of engine W that copies operands into shared memory.
#pragma once

#include "ck_tile/cuda_model/hopper_shared.hpp"
#include "ck_tile/cuda_model/hopper_walk.hpp"

namespace ck_tile::cuda_model {

// The warp that copies; one lane uses this.
template <typename Config>
struct hopper_ring
{
    const hopper_params_of<Config>& p;
    const hopper_shared<Config>& shared;
    ring_position<Config::stages> at{};

    // Waits until the next stage is free, and returns the barrier of copies into it.
    __device__ __forceinline__ std::uint32_t claim()
    {
        const std::uint32_t barrier = shared.full + 8 * at.stage;
        barrier_wait(shared.empty + 8 * at.stage, at.turn ^ 1);
        barrier_expect(barrier, Config::stage_bytes_copied);
        return barrier;
    }
};

template <typename Config>
struct hopper_producer : hopper_ring<Config>
{
    using hopper_ring<Config>::p, hopper_ring<Config>::shared, hopper_ring<Config>::at;
    using hopper_ring<Config>::claim;

    static constexpr bool forward = Config::direction == direction::forward;
    static constexpr bool data    = Config::direction == direction::backward_data;
    static constexpr bool weight  = Config::direction == direction::backward_weight;

    // The first position of windows (image, d, h, w origins with the lowest tap) for a position;
    // of single pixels the number is w.
    struct origin
    { int n, d, h, w; };

    __device__ __forceinline__ origin find_origin(int position, int first_image) const
    {
        if(p.pixels) { return {0, 0, 0, first_image * p.image_pixels + position}; }
        const gemm_params& g = p.work.g;
        int rest = position, index[3] = {0, 0, 0};
#pragma unroll
        for(int axis = 2; axis >= 3 - Config::dimensions; --axis)
        {
            const int next = g.positions[axis].quotient(rest);
            index[axis]    = g.positions[axis].remainder(rest, next) * g.origin_scale[axis] +
                             g.origin_offset[axis];
            if constexpr(data)
            {
                index[axis] += g.image.step[axis] * (static_cast<int>(g.taps[axis][0].divisor) - 1);
            }
            rest = next;
        }
        return {first_image + rest, index[0], index[1], index[2]};
    }

    __device__ __forceinline__ void copy_window(std::uint32_t destination,
                                                std::uint32_t barrier,
                                                const CUtensorMap& map,
                                                int channel,
                                                const origin& o,
                                                const int (&tap)[3]) const
    {
        if(p.pixels)
        {
            copy_tile(destination, map, barrier, channel, o.w);
            return;
        }
        const gemm_params& g = p.work.g;
        int offset[3];
#pragma unroll
        for(int axis = 0; axis < 3; ++axis)
        {
            // Counted from the lowest position that a tap reaches.
            offset[axis] = data ? -g.image.step[axis] *
                                      (static_cast<int>(g.taps[axis][0].divisor) - 1 - tap[axis])
                                : g.image.step[axis] * tap[axis];
        }
        if constexpr(Config::dimensions == 3)
        {
            copy_windows(destination,
                         map,
                         barrier,
                         channel,
                         o.w,
                         o.h,
                         o.d,
                         o.n,
                         offset[2],
                         offset[1],
                         offset[0]);
        }
        else
        {
            copy_windows(destination, map, barrier, channel, o.w, o.h, o.n, offset[2], offset[1]);
        }
    }

    __device__ __forceinline__ void fill(const hopper_tile_place& place)
    {
        if constexpr(weight) { fill_weight(place); }
        else
        {
            fill_windows(place);
        }
    }

    // Forward and backward data: windows of the tile's rows, and filters.
    __device__ __forceinline__ void fill_windows(const hopper_tile_place& place)
    {
        const gemm_params& g = p.work.g;
        const origin o       = find_origin(place.at.first_row, place.at.first_image);
        const int first      = place.at.first_group * g.image_channels;
        int taps[3];
#pragma unroll
        for(int axis = 0; axis < 3; ++axis)
        {
            const bool fewer = data && place.at.remainder[axis] >= g.full_taps[axis];
            taps[axis]       = static_cast<int>(g.taps[axis][fewer ? 1 : 0].divisor);
        }
        int rest   = p.work.chunks.quotient(place.step_begin);
        int chunk  = p.work.chunks.remainder(place.step_begin, rest);
        int tap[3] = {0, 0, 0};
        if(rest > 0)
        {
            tap[2] = rest % taps[2];
            rest /= taps[2];
            tap[1] = rest % taps[1];
            tap[0] = rest / taps[1];
        }
        for(int step = place.step_begin; step < place.step_end; ++step, at.advance())
        {
            const std::uint32_t barrier = claim();
            const std::uint32_t stage   = shared.stage(at.stage);
            copy_window(stage + Config::windows_at,
                        barrier,
                        p.a,
                        first + chunk * Config::k_elements,
                        o,
                        tap);
            int filter = 0;
#pragma unroll
            for(int axis = 3 - Config::dimensions; axis < 3; ++axis)
            {
                const int along =
                    data ? tap[axis] * g.tilde[axis] + place.at.remainder[axis] : tap[axis];
                filter = filter * g.filter[axis] + along;
            }
            const std::uint32_t filters = stage + Config::filters_at;
            if constexpr(forward)
            {
                copy_tile(filters,
                          p.b,
                          barrier,
                          chunk * Config::k_elements,
                          filter,
                          place.at.first_column,
                          place.at.first_group);
            }
            else
            {
#pragma unroll
                for(int i = 0; i < Config::filter_chunks; ++i)
                {
                    copy_tile(filters + i * hopper_chunk_bytes,
                              p.b,
                              barrier,
                              place.at.first_column + i * 64,
                              filter,
                              chunk * 64,
                              place.at.first_group);
                }
            }
            if(++chunk == static_cast<int>(p.work.chunks.divisor))
            {
                chunk = 0;
                if(++tap[2] == taps[2])
                {
                    tap[2] = 0;
                    if(++tap[1] == taps[1])
                    {
                        tap[1] = 0;
                        ++tap[0];
                    }
                }
            }
        }
    }

    // Backward weight: A is pixels of dY, B windows of the input, one tap per 64 columns.
    __device__ __forceinline__ void fill_weight(const hopper_tile_place& place)
    {
        const gemm_params& g = p.work.g;
        int tap[Config::column_chunks][3], channel[Config::column_chunks];
#pragma unroll
        for(int i = 0; i < Config::column_chunks; ++i)
        {
            const int number = place.first_chunk + i;
            const int linear = p.work.chunks.quotient(number);
            channel[i]       = place.at.first_group * g.image_channels +
                               p.work.chunks.remainder(number, linear) * Config::columns_per_chunk;
            int rest         = linear;
#pragma unroll
            for(int axis = 2; axis > 0; --axis)
            {
                const int next = g.taps[axis][0].quotient(rest);
                tap[i][axis]   = g.taps[axis][0].remainder(rest, next);
                rest           = next;
            }
            // Columns beyond the last tap are computed from the first one and dropped.
            tap[i][0] = rest < g.filter[0] ? rest : 0;
        }
        const int row = place.at.first_group * g.other_channels + place.at.first_row;
        for(int step = place.step_begin; step < place.step_end; ++step, at.advance())
        {
            const std::uint32_t barrier = claim();
            const std::uint32_t stage   = shared.stage(at.stage);
            const origin o              = find_origin(step * hopper_k, 0);
#pragma unroll
            for(int i = 0; i < Config::m / 64; ++i)
            {
                copy_tile(
                    stage + i * hopper_chunk_bytes, p.a, barrier, row + i * 64, step * hopper_k);
            }
#pragma unroll
            for(int i = 0; i < Config::column_chunks; ++i)
            {
                copy_window(stage + Config::a_bytes + i * hopper_chunk_bytes,
                            barrier,
                            p.b,
                            channel[i],
                            o,
                            tap[i]);
            }
        }
    }
};

} // namespace ck_tile::cuda_model
