// SPDX-License-Identifier: MIT
// Engine W for windows of stride 1, from patches: one warp copies patches, one weights, and two
// warpgroups take turns with tiles of their own.
#pragma once

#include "ck_tile/cuda_model/dependent_launch.hpp"
#include "ck_tile/cuda_model/hopper_patch.hpp"
#include "ck_tile/cuda_model/hopper_patch_products.hpp"
#include "ck_tile/cuda_model/hopper_shared.hpp"
#include "ck_tile/cuda_model/hopper_turns.hpp"
#include "ck_tile/cuda_model/matrix_descriptor.hpp"

namespace ck_tile::cuda_model {

struct hopper_patch_params
{
    CUtensorMap a;
    CUtensorMap b;
    hopper_work work;
    hopper_patch patch;
};

// The tile's pipeline means nothing here: stages are what memory holds, and consumers take turns.
template <typename Tile>
struct hopper_patch_config : hopper_config<Tile, 1, true>
{
    using Base = hopper_config<Tile, 1, true>;

    static constexpr int positions     = Base::m + 128; // of a patch
    static constexpr int patch_bytes   = positions * hopper_row_bytes;
    static constexpr int patch_stages  = 3;
    static constexpr int weight_bytes  = Base::b_bytes;
    static constexpr int room          = Base::plan.room(1) - patch_stages * patch_bytes;
    static constexpr int weight_stages = room / weight_bytes < 8 ? room / weight_bytes : 8;
    static constexpr int shared_bytes  = 1024 + patch_stages * patch_bytes +
                                         weight_stages * weight_bytes + Base::staging_bytes + 1024;
};

// Narrow tiles are bound by copies, and wide ones by products, which patches have more of.
template <typename Base>
inline constexpr bool hopper_patch_tile =
    Base::direction != direction::backward_weight && Base::n == 64 && Base::m >= 128 &&
    Base::m % 64 == 0 && Base::merged == 1 && Base::e_bytes == 2;

template <typename Config>
struct hopper_patch_shared
{
    std::uint32_t patches, weights; // aligned to 1024
    std::uint32_t patch_full, patch_empty, weight_full, weight_empty;
    std::uint32_t order;
    char* staging;

    __device__ __forceinline__ explicit hopper_patch_shared(char* shared)
    {
        const std::uint32_t start = (shared_address(shared) + 1023u) & ~1023u;
        patches                   = start;
        weights                   = patches + Config::patch_stages * Config::patch_bytes;
        const std::uint32_t end   = weights + Config::weight_stages * Config::weight_bytes;
        staging                   = shared + (end - shared_address(shared));
        patch_full                = end + Config::staging_bytes;
        patch_empty               = patch_full + 8 * Config::patch_stages;
        weight_full               = patch_empty + 8 * Config::patch_stages;
        weight_empty              = weight_full + 8 * Config::weight_stages;
        order                     = weight_empty + 8 * Config::weight_stages;
    }

    __device__ __forceinline__ void init_barriers() const
    {
        for(int i = 0; i < 2; ++i) { barrier_init(order + 8 * i, 4); }
        for(int i = 0; i < Config::patch_stages; ++i)
        {
            barrier_init(patch_full + 8 * i, 1);
            barrier_init(patch_empty + 8 * i, 4);
        }
        for(int i = 0; i < Config::weight_stages; ++i)
        {
            barrier_init(weight_full + 8 * i, 1);
            barrier_init(weight_empty + 8 * i, 4);
        }
        fence_barrier_inits();
    }
};

// One lane each of two warps calls these.
template <typename Config>
struct hopper_patch_producer
{
    static constexpr bool data = Config::direction == direction::backward_data;

    const hopper_patch_params& p;
    const hopper_patch_shared<Config>& shared;

    __device__ __forceinline__ void copy_patches(int stride)
    {
        ring_position<Config::patch_stages> at{};
        const gemm_params& g      = p.work.g;
        const hopper_patch& patch = p.patch;
        const int bytes           = patch.bytes();
        for(int tile = blockIdx.x; tile < p.work.tiles; tile += stride)
        {
            const hopper_patch_place place = find_patch_place<Config>(p.work, patch, tile);
            for(int chunk = 0; chunk < static_cast<int>(p.work.chunks.divisor); ++chunk)
                for(int d = 0; d < patch.taps[0]; ++d, at.advance())
                {
                    const std::uint32_t full = shared.patch_full + 8 * at.stage;
                    const std::uint32_t to   = shared.patches + at.stage * Config::patch_bytes;
                    barrier_wait(shared.patch_empty + 8 * at.stage, at.turn ^ 1);
                    barrier_expect(full, bytes);
                    const int c = place.at.first_group * g.image_channels + chunk * 64;
                    const int y = place.h + patch.lowest[1];
                    if constexpr(Config::dimensions == 3)
                    {
                        const int z = place.d + patch.lowest[0] + d * patch.step[0];
                        copy_tile(to, p.a, full, c, patch.lowest[2], y, z, place.image);
                    }
                    else
                    {
                        copy_tile(to, p.a, full, c, patch.lowest[2], y, place.image);
                    }
                }
        }
    }

    // The tap of the filter that a displacement along an axis stands for.
    __device__ __forceinline__ int filter_tap(int axis, int displacement) const
    { return data ? (p.patch.taps[axis] - 1 - displacement) * p.work.g.tilde[axis] : displacement; }

    __device__ __forceinline__ void copy_weights(int stride)
    {
        ring_position<Config::weight_stages> at{};
        const gemm_params& g      = p.work.g;
        const hopper_patch& patch = p.patch;
        for(int tile = blockIdx.x; tile < p.work.tiles; tile += stride)
        {
            const tile_place place = find_patch_place<Config>(p.work, patch, tile).at;
            for(int chunk = 0; chunk < static_cast<int>(p.work.chunks.divisor); ++chunk)
                for(int d = 0; d < patch.taps[0]; ++d)
                    for(int y = 0; y < patch.taps[1]; ++y)
                        for(int x = 0; x < patch.taps[2]; ++x, at.advance())
                        {
                            const int filter =
                                (filter_tap(0, d) * g.filter[1] + filter_tap(1, y)) * g.filter[2] +
                                filter_tap(2, x);
                            const std::uint32_t full = shared.weight_full + 8 * at.stage;
                            const std::uint32_t to =
                                shared.weights + at.stage * Config::weight_bytes;
                            barrier_wait(shared.weight_empty + 8 * at.stage, at.turn ^ 1);
                            barrier_expect(full, Config::weight_bytes);
                            copy_tile(to,
                                      p.b,
                                      full,
                                      data ? place.first_column : chunk * 64,
                                      filter,
                                      data ? chunk * 64 : place.first_column,
                                      place.first_group);
                        }
        }
    }
};

// Products: patch_products, or patch_group_products.
template <typename Config, typename Products>
struct hopper_patch_consumer
{
    const hopper_patch_params& p;
    const hopper_patch_shared<Config>& shared;
    const typename Config::fused& fused;
    int warpgroup;
    hopper_turns<true> turns;
    ring_position<Config::patch_stages> patch{};
    ring_position<Config::weight_stages> weights{};
    typename Products::sums sum;

    __device__ __forceinline__ int patches() const
    { return static_cast<int>(p.work.chunks.divisor) * p.patch.taps[0]; }
    __device__ __forceinline__ int taps() const { return p.patch.taps[1] * p.patch.taps[2]; }

    // Leaves a tile to the other warpgroup.
    __device__ __forceinline__ void skip()
    {
        patch.advance(patches());
        weights.advance(patches() * taps());
    }

    // One loop over all taps of all patches: products that are under way across the end of an inner
    // loop would be waited for there. Calls before_last() while the last ones are under way: there
    // are no registers for what it reads to wait in.
    template <typename BeforeLast>
    __device__ __forceinline__ void multiply(const BeforeLast& before_last)
    {
        // What the taps displace by, in descriptors.
        constexpr int row = hopper_row_bytes / 16;
        const int along   = p.patch.step[2] * row;
        const int line    = p.patch.taps[2];
        const int next_line =
            p.patch.step[1] * static_cast<int>(p.patch.width.divisor) * row - line * along;
        const int tap_count = taps();
        const int steps     = patches() * tap_count;
        int tap = tap_count, x = 0, displacement = 0;
        int weights_before = 0, patch_before = 0;
        bool another_patch = false; // since the products before
        clear_sums(sum);
        turns.begin();
#pragma unroll 1
        for(int step = 0; step < steps; ++step)
        {
            if(tap == tap_count)
            {
                if(step > 0) { patch.advance(); }
                barrier_wait(shared.patch_full + 8 * patch.stage, patch.turn);
                tap = x = displacement = 0;
                another_patch          = step > 0;
            }
            barrier_wait(shared.weight_full + 8 * weights.stage, weights.turn);
            const std::uint64_t channels = make_descriptor(
                shared.weights + weights.stage * Config::weight_bytes, Config::b_k_major);
            const std::uint64_t positions =
                make_descriptor(shared.patches + patch.stage * Config::patch_bytes, true) +
                displacement;
            products_begin();
            Products::issue(sum, channels, positions);
            products_commit();
            products_wait<1>();
            if(step > 0) { release_stage(shared.weight_empty + 8 * weights_before); }
            if(another_patch) { release_stage(shared.patch_empty + 8 * patch_before); }
            another_patch  = false;
            patch_before   = patch.stage;
            weights_before = weights.stage;
            weights.advance();
            ++tap;
            displacement += along;
            if(++x == line)
            {
                x = 0;
                displacement += next_line;
            }
        }
        patch.advance();
        turns.end();
        before_last();
        products_wait<0>();
        pin_sums(sum);
        release_stage(shared.weight_empty + 8 * weights_before);
        release_stage(shared.patch_empty + 8 * patch_before);
    }

    __device__ __forceinline__ void run(int stride)
    {
        int turn = 0;
        for(int tile = blockIdx.x; tile < p.work.tiles; tile += stride, turn ^= 1)
        {
            if(turn != warpgroup)
            {
                skip();
                continue;
            }
            typename Products::operation operation;
            const auto read_for_operation = [&] {
                operation.read(
                    fused, p.work.g, find_patch_place<Config>(p.work, p.patch, tile).at, 0);
            };
            multiply(read_for_operation);
            const hopper_patch_place place = find_patch_place<Config>(p.work, p.patch, tile);
            Products::store({shared.staging, warpgroup},
                            p.work,
                            sum,
                            place.at,
                            rows_of(p.patch, place),
                            fused,
                            operation);
        }
    }
};

template <typename Tag, typename Config, typename Products>
__global__ void __launch_bounds__(Config::threads, 1)
    hopper_patch_gemm(const __grid_constant__ hopper_patch_params p,
                      const __grid_constant__ typename Config::fused fused)
{
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
    extern __shared__ __align__(128) char memory[];
    const hopper_patch_shared<Config> shared(memory);
    const int warp        = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0);
    constexpr int copying = Config::warpgroups * 4; // the first warp that copies
    const bool leads      = threadIdx.x % 32 == 0;
    if(warp == copying && leads)
    {
        prefetch_map(p.a);
        prefetch_map(p.b);
        shared.init_barriers();
    }
    const int stride = static_cast<int>(gridDim.x);
    if(warp >= copying)
    {
        give_up_registers<Config::producer_registers>();
        hopper_patch_producer<Config> producer{p, shared};
        if(warp != copying + 1) { begin_together<true>(Config::threads); }
        else
        {
            begin_together<false>(Config::threads);
        }
        wait_for_kernel_before();
        if(warp == copying && leads) { producer.copy_patches(stride); }
        if(warp == copying + 1 && leads) { producer.copy_weights(stride); }
    }
    else
    {
        take_registers<Config::plan.consumer_registers(1)>();
        begin_together<false>(Config::threads);
        hopper_patch_consumer<Config, Products>{
            p, shared, fused, warp / 4, {shared.order, warp / 4}}
            .run(stride);
    }
#endif
}

} // namespace ck_tile::cuda_model
