// SPDX-License-Identifier: MIT
// Which problems engine W takes, and its launch.
#pragma once

#include <algorithm>

#include "ck_tile/core/utility/hip_check_error.hpp"
#include "ck_tile/cuda_model/hopper_gemm.hpp"
#include "ck_tile/cuda_model/start.hpp"
#include "ck_tile/cuda_model/tensor_maps.hpp"
#include "ck_tile/host/device_memory.hpp"

namespace ck_tile::cuda_model {

namespace impl {

// Fewer channels than that leave most of the 64 that a copy brings unused.
inline constexpr int fewest_channels = 16;

template <typename Config>
window_map_request window_request(const gemm_params& g)
{
    const void* base = Config::weight ? g.b : g.a;
    const int images = static_cast<int>(g.images_total);
    return make_window_map_request(
        g, base, images, Config::ab_bytes, Config::weight ? hopper_k : Config::m);
}

template <typename Config>
tile_map_request tile_request(const gemm_params& g)
{
    if constexpr(Config::weight)
    {
        return make_pixel_map_request(g, g.a, g.k, Config::ab_bytes);
    }
    else
    {
        constexpr bool forward = Config::direction == direction::forward;
        return make_weight_map_request(
            g, g.b, Config::ab_bytes, 64, forward ? static_cast<unsigned>(Config::n) : 64u);
    }
}

inline int multiprocessors()
{
    static const int count = [] {
        int device = 0, answer = 0;
        hip_check_error(cudaGetDevice(&device));
        hip_check_error(cudaDeviceGetAttribute(&answer, cudaDevAttrMultiProcessorCount, device));
        return answer;
    }();
    return count;
}

// Sums of several parts of K and the counters of tiles: zero whenever no kernel runs.
inline char* zeroed_workspace(std::size_t bytes)
{
    // Never destroyed: the device may be gone by then.
    static DeviceMem& memory = *new DeviceMem;
    if(memory.GetBufferSize() < bytes)
    {
        memory.Realloc(bytes);
        memory.SetZero();
    }
    return static_cast<char*>(memory.GetDeviceBuffer());
}

template <typename Kernel>
struct hopper_tag;

// Starts engine W unless the problem is one for engine M.
template <typename Kernel, typename Config>
bool launch_hopper(cudaStream_t stream, const gemm_params& g)
{
    const int channels = Config::direction == direction::forward         ? g.in_channels
                         : Config::direction == direction::backward_data ? g.out_channels
                                                                         : g.in_channels * Config::merged;
    if(channels < fewest_channels || g.explicit_gemm || !makes_tensor_maps()) { return false; }
    const window_map_request windows = window_request<Config>(g);
    const tile_map_request tiles     = tile_request<Config>(g);
    if(!is_possible(windows) || !is_possible(tiles)) { return false; }

    static remembered_map<window_map_request>& window_map = *new remembered_map<window_map_request>;
    static remembered_map<tile_map_request>& tile_map     = *new remembered_map<tile_map_request>;
    constexpr CUtensorMapDataType type                    = Config::ab_type == data_type::bf16
                                                                ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                                : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    hopper_params p{};
    p.work = make_hopper_work<Config>(g);
    if(p.work.tiles < 0) { return false; }
    const CUtensorMap& of_windows = window_map.get(windows, type);
    const CUtensorMap& of_tiles   = tile_map.get(tiles, type);
    p.a                           = Config::weight ? of_tiles : of_windows;
    p.b                           = Config::weight ? of_windows : of_tiles;
    if constexpr(Config::weight)
    {
        if(g.k_batch > 1 && Config::e_type != data_type::fp32)
        {
            const std::size_t elements = static_cast<std::size_t>(g.groups) * g.out_channels *
                                         g.in_channels * g.filter[0] * g.filter[1] * g.filter[2];
            const std::size_t sums     = (elements * 4 + 255) / 256 * 256;
            const std::size_t counters = static_cast<std::size_t>(p.work.tiles) * 4;
            char* workspace            = zeroed_workspace(sums + counters);
            p.work.partial             = reinterpret_cast<float*>(workspace);
            p.work.arrived             = reinterpret_cast<unsigned*>(workspace + sums);
        }
    }
    const int blocks = std::min(p.work.tiles, multiprocessors() * Config::resident);
    start<hopper_tag<Kernel>>(&hopper_gemm<Config>,
                              static_cast<unsigned>(blocks),
                              Config::threads,
                              Config::shared_bytes,
                              stream,
                              p);
    return true;
}

} // namespace impl

} // namespace ck_tile::cuda_model
