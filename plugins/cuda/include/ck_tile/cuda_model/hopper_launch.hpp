// SPDX-License-Identifier: MIT
// Which problems engine W takes, and its launch.
#pragma once

#include <algorithm>

#include "ck_tile/cuda_model/hopper_grid.hpp"
#include "ck_tile/cuda_model/hopper_patch_gemm.hpp"
#include "ck_tile/cuda_model/joined_groups.hpp"
#include "ck_tile/cuda_model/rearrangement_launch.hpp"
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
        const std::int64_t channels = std::int64_t{g.groups} * g.other_channels;
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
    e.joined   = make_fast_divisor(joined);
    e.k        = make_fast_divisor(s.K);
    e.taps     = make_fast_divisor(host_model::volume(s.filter));
    e.c        = make_fast_divisor(s.C);
    e.wide     = make_fast_divisor(s.C * joined);
    e.elements = s.G * s.K * host_model::volume(s.filter) * s.C * joined;
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
void start_patches(cudaStream_t stream,
                   const hopper_patch_params& p,
                   const typename Config::fused& fused,
                   bool early)
{
    grid_blocks blocks{static_cast<unsigned>(std::min(p.work.tiles, multiprocessors()))};
    blocks.early = early;
    start<hopper_patch_tag<Kernel, Products>>(
        &hopper_patch_gemm<kernel_tag<Kernel, Config::shared_bytes>, Config, Products>,
        blocks,
        Config::threads,
        Config::shared_bytes,
        stream,
        covers_result(p.work.g) ? p.work.g.result : nullptr,
        p,
        fused);
}

// Starts engine W with patches if the windows allow that. `few`: see depend_on_few.
template <typename Kernel, typename Config>
bool launch_patches(cudaStream_t stream,
                    const gemm_params& g,
                    const typename Config::fused& fused,
                    int joined,
                    bool few,
                    const expansion<stored_t<Config::ab_type>>& expanded,
                    bool early)
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
    if(few)
    {
        start_patches<Kernel, Config, patch_group_products<Config>>(stream, p, fused, early);
    }
    else
    {
        start_patches<Kernel, Config, patch_products<Config>>(stream, p, fused, early);
    }
    return true;
}

// Whether the tensor copy engine can bring the operands.
template <typename Config>
bool can_copy_operands(const gemm_params& g)
{
    const bool first = has_pixel_windows(g) ? is_possible(pixel_request<Config>(g))
                                            : is_possible(window_request<Config>(g));
    return first && is_possible(tile_request<Config>(g));
}

// Steps of the longest reduction of a tile.
template <typename Config>
int steps_of(const hopper_work& w)
{
    if constexpr(Config::weight) { return (w.pixels + hopper_k - 1) / hopper_k; }
    const gemm_params& g = w.g;
    int steps            = static_cast<int>(w.chunks.divisor);
    for(int axis = 0; axis < 3; ++axis) { steps *= static_cast<int>(g.taps[axis][0].divisor); }
    return steps;
}

// Starts engine W for operands that it can copy; false, and nothing is started, if it cannot.
template <typename Kernel, typename Config, typename Call>
bool start_hopper(cudaStream_t stream,
                  const Call& call,
                  const typename Config::fused& fused,
                  gemm_params g,
                  int joined,
                  bool early = false)
{
    using element = stored_t<Config::ab_type>;
    expansion<element> expanded{};
    if(!Config::weight && joined > 1)
    {
        expanded = plan_expansion<element>(call.shape, call.wei, joined);
        g.b      = expanded.to;
    }
    using grid            = hopper_grid<Kernel, Config>;
    const hopper_work all = make_hopper_work<Config>(g, joined);
    if(all.tiles < 0) { return false; }
    // Parts of the images would be parts of other tiles.
    const int parts = g.k_batch == 1 && g.blocks_z == 1
                          ? grid::best_cluster(all.tiles, steps_of<Config>(all))
                          : 1;
    if constexpr(hopper_patch_tile<Config>)
    {
        using patches  = hopper_patch_config<typename Config::tile>;
        const bool few = depend_on_few(call.shape, joined);
        // Long reductions of few tiles are better shared.
        if(parts < 3 &&
           launch_patches<Kernel, patches>(stream, g, fused, joined, few, expanded, early))
        {
            return true;
        }
    }
    if(!can_copy_operands<Config>(g)) { return false; }
    const bool pixels                                     = has_pixel_windows(g);
    static remembered_map<window_map_request>& window_map = *new remembered_map<window_map_request>;
    static remembered_map<tile_map_request>& pixel_map    = *new remembered_map<tile_map_request>;
    static remembered_map<tile_map_request>& tile_map     = *new remembered_map<tile_map_request>;
    constexpr CUtensorMapDataType type                    = map_type<Config>();
    hopper_params p{};
    p.work                        = all;
    const CUtensorMap& of_windows = pixels ? pixel_map.get(pixel_request<Config>(g), type)
                                           : window_map.get(window_request<Config>(g), type);
    const CUtensorMap& of_tiles   = tile_map.get(tile_request<Config>(g), type);
    p.a                           = Config::weight ? of_tiles : of_windows;
    p.b                           = Config::weight ? of_windows : of_tiles;
    p.pixels                      = pixels;
    p.image_pixels                = static_cast<int>(g.image.image_stride / g.image.stride[2]);
    if(g.k_batch > 1)
    {
        const bool whole = g.blocks_z == g.k_batch;
        if(whole && grid::prefers_clusters(p.work.sums)) { p.work.sums.cluster = g.k_batch; }
        else if constexpr(Config::weight) { grid::add_workspace(p.work.sums); }
    }
    else if(parts > 1)
    {
        gemm_params split   = g;
        split.k_batch       = parts;
        split.blocks_z      = parts;
        p.work              = make_hopper_work<Config>(split, joined);
        p.work.sums.cluster = parts;
    }
    const bool adds_results = g.k_batch > 1 && p.work.sums.cluster == 1 && !Config::weight;
    expand(stream, expanded);
    grid::start_blocks(
        p, fused, stream, g.all_positions && !adds_results ? g.result : nullptr, early);
    return true;
}

template <typename Call>
const void* image_of(const Call& call, bool backward_data)
{ return backward_data ? call.out : call.in; }

// Copies operands into a form that engine W takes, and starts it.
template <typename Kernel, typename Config, typename Call>
bool start_rearranged(cudaStream_t stream,
                      const Call& call,
                      const typename Config::fused& fused,
                      const operand_rearrangement& plan)
{
    using kind              = operand_rearrangement::kind;
    constexpr auto way      = Config::direction;
    constexpr bool data     = way == direction::backward_data;
    const auto& s           = call.shape;
    const bool phases       = plan.what == kind::phases;
    const std::int64_t deep = data ? s.K : s.C;
    if((s.G > 1 && deep < fewest_channels) || (phases && call.k_batch > 1) ||
       !is_countable(plan, way))
    {
        return false;
    }
    Call made = remake_call(Kernel::facts, plan.shape, call);
    made.in = call.in, made.wei = call.wei, made.out = call.out;
    gemm_params g = make_gemm_params(Kernel::facts, made);
    widen_channels(g, static_cast<int>(plan.image_channels), static_cast<int>(plan.other_channels));
    g.a = g.b = nullptr;
    if(!can_copy_operands<Config>(g)) { return false; }

    const void* image = image_of(call, data);
    const void* other = Config::weight ? static_cast<const void*>(call.out) : call.wei;
    const auto rows   = [](const host_model::conv_shape& shape, const std::int64_t (&size)[3]) {
        return shape.G * shape.N * host_model::volume(size);
    };
    rows_to_widen of_image{image}, of_other{other};
    if(plan.what == kind::columns)
    {
        of_image.from = copy_columns(stream, s, data, image, plan.image_channels);
    }
    else if(plan.image)
    {
        of_image = {image, rows(s, data ? s.output : s.input), deep, deep, plan.image_channels};
    }
    if(phases) { of_other.from = copy_weight_phases(stream, s, plan, other); }
    else if(data && plan.what == kind::columns)
    {
        of_other.from = copy_flipped_weights(stream, s, plan, other);
    }
    else if(plan.other)
    {
        const std::int64_t lines =
            Config::weight ? rows(s, s.output) : s.G * s.K * host_model::volume(plan.shape.filter);
        const std::int64_t width = Config::weight ? s.K : plan.shape.C;
        of_other                 = {other, lines, width, width, plan.other_channels};
    }
    const widened_operands copies = copy_widened(stream, of_image, of_other);
    image                         = copies.first;
    other                         = copies.second;
    g.a                           = Config::weight ? other : image;
    g.b                           = Config::weight ? image : other;
    if constexpr(data)
    {
        if(phases)
        {
            // The last copy writes every element.
            hip_check_error(deferred_zeroing::of_thread().settle(stream, call.in));
            g.result = phases_of_result(plan);
            if(!start_hopper<Kernel, Config>(stream, made, fused, g, 1, true)) { return false; }
            copy_image_phases(stream, s, plan, g.result, call.in);
            return true;
        }
    }
    return start_hopper<Kernel, Config>(stream, made, fused, g, 1, true);
}

// Starts engine W unless the problem is one for engine M.
template <typename Kernel, typename Config, typename Call>
bool launch_hopper(cudaStream_t stream, const Call& call, const typename Config::fused& fused)
{
    const int joined = Config::merged == 1 ? groups_to_join(call.shape) : 1;
    if(Kernel::facts.explicit_gemm || !makes_tensor_maps()) { return false; }
    if constexpr(Config::ab_bytes == 2 && Config::merged == 1)
    {
        const operand_rearrangement plan = plan_rearrangement(Config::direction, call.shape);
        if(joined == 1 && plan.what != operand_rearrangement::kind::none)
        {
            return start_rearranged<Kernel, Config>(stream, call, fused, plan);
        }
    }
    const gemm_params g = make_gemm_params(Kernel::facts, join_groups(Kernel::facts, call, joined));
    const int channels  = Config::direction == direction::forward ? g.in_channels
                          : Config::direction == direction::backward_data
                              ? g.out_channels
                              : g.in_channels * Config::merged;
    if(channels < fewest_channels) { return false; }
    // Weights of joined groups are expanded by a kernel that lets the next one be launched early.
    return start_hopper<Kernel, Config>(
        stream, call, fused, g, joined, !Config::weight && joined > 1);
}

} // namespace impl

} // namespace ck_tile::cuda_model
