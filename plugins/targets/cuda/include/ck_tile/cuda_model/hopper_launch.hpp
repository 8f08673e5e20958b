// SPDX-License-Identifier: MIT
// Which problems engine W takes, and its launch.
#pragma once

#include <algorithm>

#include "ck_tile/cuda_model/hopper_grid.hpp"
#include "ck_tile/cuda_model/hopper_patch_gemm.hpp"
#include "ck_tile/cuda_model/joined_groups.hpp"
#include "ck_tile/cuda_model/start.hpp"
#include "ck_tile/cuda_model/tensor_maps.hpp"
#include "ck_tile/cuda_model/workspace.hpp"

namespace ck_tile::cuda_model {

namespace impl {

// Fewer channels than that leave most of the 64 (of TF32: 32) that a copy brings unused.
inline constexpr int fewest_channels = 16;

// What windows are cut from.
template <typename Config>
const void* windowed(const gemm_params& g)
{ return Config::weight ? g.b : g.a; }

template <typename Config>
window_map_request window_request(const gemm_params& g)
{
    const int images = static_cast<int>(g.images_total);
    return make_window_map_request(g,
                                   windowed<Config>(g),
                                   images,
                                   Config::ab_bytes,
                                   Config::weight ? hopper_k : Config::tile_m,
                                   Config::dimensions == 3);
}

template <typename Config>
tile_map_request pixel_request(const gemm_params& g)
{
    const std::int64_t pixels = g.image.image_stride / g.image.stride[2] * g.images_total;
    return make_pixel_map_request(windowed<Config>(g),
                                  g.image.stride[2],
                                  pixels,
                                  Config::ab_bytes,
                                  Config::weight ? hopper_k : Config::tile_m);
}

template <typename Config>
tile_map_request tile_request(const gemm_params& g)
{
    if constexpr(Config::weight)
    {
        const std::int64_t channels = std::int64_t{g.groups} * g.out_channels;
        return make_pixel_map_request(g.a, channels, g.k, Config::ab_bytes, 64);
    }
    else
    {
        constexpr bool forward = Config::direction == direction::forward;
        return make_weight_map_request(g,
                                       g.b,
                                       Config::ab_bytes,
                                       Config::k_elements,
                                       forward ? static_cast<unsigned>(Config::tile_n) : 64u);
    }
}

template <typename Kernel, typename Products>
struct hopper_patch_tag;

// Copies round what is to become TF32.
template <typename Config>
constexpr CUtensorMapDataType map_type()
{
    return Config::ab_type == data_type::tf32   ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
           : Config::ab_type == data_type::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
}

struct expanded_weights;

template <typename Element>
expansion<Element> plan_expansion(const host_model::conv_shape& s, const void* weights, int joined)
{
    expansion<Element> e{};
    e.from     = static_cast<const Element*>(weights);
    e.joined   = joined;
    e.k        = static_cast<int>(s.K);
    e.taps     = static_cast<int>(host_model::volume(s.filter));
    e.c        = static_cast<int>(s.C);
    e.elements = s.G * s.K * e.taps * s.C * joined;
    e.to       = static_cast<Element*>(
        workspace_of<expanded_weights>(static_cast<std::size_t>(e.elements) * sizeof(Element)));
    return e;
}

template <typename Element>
void expand(cudaStream_t stream, const expansion<Element>& e)
{
    if(e.to == nullptr) { return; }
    const auto parts =
        static_cast<unsigned>(std::min<std::int64_t>((e.elements + 255) / 256, 4096));
    expand_weights<Element><<<parts, 256, 0, stream>>>(e);
}

template <typename Kernel, typename Config, typename Products>
void start_patches(cudaStream_t stream, const hopper_patch_params& p)
{
    start<hopper_patch_tag<Kernel, Products>>(
        &hopper_patch_gemm<Config, Products, kernel_tag<Kernel, Config::shared_bytes>>,
        static_cast<unsigned>(std::min(p.work.tiles, multiprocessors())),
        Config::threads,
        Config::shared_bytes,
        stream,
        covers_result(p.work.g) ? p.work.g.result : nullptr,
        p);
}

// Starts engine W with patches if the windows allow that. `few`: see depend_on_few.
template <typename Kernel, typename Config>
bool launch_patches(cudaStream_t stream,
                    const gemm_params& g,
                    int joined,
                    bool few,
                    const expansion<stored_t<Config::ab_type>>& expanded)
{
    constexpr bool data = Config::direction == direction::backward_data;
    constexpr bool deep = Config::dimensions == 3;
    hopper_patch_params p{};
    p.patch = plan_patch(g, Config::m, Config::positions, data);
    if(p.patch.rows == 0) { return false; }
    p.work = make_hopper_work<Config>(g, joined);
    const tile_map_request patches =
        make_patch_map_request(g, p.patch, g.a, Config::ab_bytes, deep);
    const tile_map_request weights = tile_request<Config>(g);
    const std::int64_t tiles =
        p.patch.tiles() * static_cast<int>(p.work.n_tiles.divisor) * g.groups;
    if(!is_possible(patches) || !is_possible(weights) || tiles > 2147483647) { return false; }
    p.work.tiles = static_cast<int>(tiles);

    static remembered_map<tile_map_request>& patch_map  = *new remembered_map<tile_map_request>;
    static remembered_map<tile_map_request>& weight_map = *new remembered_map<tile_map_request>;
    p.a = patch_map.get(patches, map_type<Config>());
    p.b = weight_map.get(weights, map_type<Config>());
    expand(stream, expanded);
    if(few) { start_patches<Kernel, Config, patch_group_products<Config>>(stream, p); }
    else
    {
        start_patches<Kernel, Config, patch_products<Config>>(stream, p);
    }
    return true;
}

// Starts engine W unless the problem is one for engine M.
template <typename Kernel, typename Config, typename Call>
bool launch_hopper(cudaStream_t stream, const Call& call)
{
    const int joined   = Config::merged == 1 ? groups_to_join(call.shape) : 1;
    gemm_params g      = make_gemm_params(Kernel::facts, join_groups(Kernel::facts, call, joined));
    const int channels = Config::direction == direction::forward ? g.in_channels
                         : Config::direction == direction::backward_data
                             ? g.out_channels
                             : g.in_channels * Config::merged;
    if(channels < fewest_channels || g.explicit_gemm || !makes_tensor_maps()) { return false; }
    using element = stored_t<Config::ab_type>;
    expansion<element> expanded{};
    if(!Config::weight && joined > 1)
    {
        expanded = plan_expansion<element>(call.shape, call.wei, joined);
        g.b      = expanded.to;
    }
    if constexpr(hopper_patch_tile<Config>)
    {
        using patches  = hopper_patch_config<typename Config::tile>;
        const bool few = depend_on_few(call.shape, joined);
        if(launch_patches<Kernel, patches>(stream, g, joined, few, expanded)) { return true; }
    }
    const bool pixels                = has_pixel_windows(g);
    const window_map_request windows = window_request<Config>(g);
    const tile_map_request matrix    = pixel_request<Config>(g);
    const tile_map_request tiles     = tile_request<Config>(g);
    if(!(pixels ? is_possible(matrix) : is_possible(windows)) || !is_possible(tiles))
    {
        return false;
    }

    static remembered_map<window_map_request>& window_map = *new remembered_map<window_map_request>;
    static remembered_map<tile_map_request>& pixel_map    = *new remembered_map<tile_map_request>;
    static remembered_map<tile_map_request>& tile_map     = *new remembered_map<tile_map_request>;
    constexpr CUtensorMapDataType type                    = map_type<Config>();
    hopper_params p{};
    p.work = make_hopper_work<Config>(g, joined);
    if(p.work.tiles < 0) { return false; }
    const CUtensorMap& of_windows =
        pixels ? pixel_map.get(matrix, type) : window_map.get(windows, type);
    const CUtensorMap& of_tiles = tile_map.get(tiles, type);
    p.a                         = Config::weight ? of_tiles : of_windows;
    p.b                         = Config::weight ? of_windows : of_tiles;
    p.pixels                    = pixels;
    p.image_pixels              = static_cast<int>(g.image.image_stride / g.image.stride[2]);
    using grid                  = hopper_grid<Kernel, Config>;
    if(g.k_batch > 1)
    {
        // Parts of the images would be parts of other tiles.
        const bool whole = g.blocks_z == g.k_batch;
        if(whole && grid::prefers_clusters(p.work.sums)) { p.work.sums.cluster = g.k_batch; }
        else if constexpr(Config::weight) { grid::add_workspace(p.work.sums); }
    }
    const bool adds_results = g.k_batch > 1 && p.work.sums.cluster == 1 && !Config::weight;
    expand(stream, expanded);
    grid::start_blocks(p, stream, g.all_positions && !adds_results ? g.result : nullptr);
    return true;
}

} // namespace impl

} // namespace ck_tile::cuda_model
