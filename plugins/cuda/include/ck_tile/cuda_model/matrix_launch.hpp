// SPDX-License-Identifier: MIT
// The launch of a product of two matrices: on engine W if its tile and its lines in memory allow
// that, else on engine M.
#pragma once

#include <algorithm>

#include "ck_tile/cuda_model/hopper_launch.hpp"
#include "ck_tile/cuda_model/hopper_matrix_work.hpp"
#include "ck_tile/cuda_model/matrix_config.hpp"
#include "ck_tile/cuda_model/matrix_gemm.hpp"
#include "ck_tile/cuda_model/rearrangement_launch.hpp"
#include "ck_tile/cuda_model/start.hpp"
#include "ck_tile/cuda_model/tensor_maps.hpp"

namespace ck_tile::cuda_model::impl {

constexpr CUtensorMapDataType map_type(data_type type)
{
    switch(type)
    {
    case data_type::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case data_type::fp16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    default: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    }
}

// Lines that begin anywhere are copied to where the tensor copy engine can take them.
template <typename Config>
matrix_params with_aligned_lines(cudaStream_t stream, const matrix_params& given)
{
    matrix_params g   = given;
    const bool a_fits = is_possible(make_a_map_request<Config>(g));
    const bool b_fits = is_possible(make_b_map_request<Config>(g));
    if(Config::ab_bytes != 2 || g.batch != 1 || (a_fits && b_fits)) { return g; }
    const auto lines = [](const void* from, bool fits, int count, int width, std::int64_t stride) {
        const std::int64_t wide = widened(width, hopper_k);
        return fits ? rows_to_widen{from} : rows_to_widen{from, count, width, stride, wide};
    };
    const rows_to_widen a = Config::a_k_major ? lines(g.a, a_fits, g.m, g.k, g.stride_a)
                                              : lines(g.a, a_fits, g.k, g.m, g.stride_a);
    const rows_to_widen b = Config::b_k_major ? lines(g.b, b_fits, g.n, g.k, g.stride_b)
                                              : lines(g.b, b_fits, g.k, g.n, g.stride_b);
    if(a.rows * a.wide >= most_pieces || b.rows * b.wide >= most_pieces) { return g; }
    const widened_operands copies = copy_widened(stream, a, b);
    g.a                           = copies.first;
    g.b                           = copies.second;
    if(!a_fits) { g.stride_a = a.wide; }
    if(!b_fits) { g.stride_b = b.wide; }
    return g;
}

// Starts engine W unless the problem is one for engine M.
template <typename Kernel, typename Config>
bool launch_hopper_matrix(cudaStream_t stream, const matrix_params& given)
{
    if(!makes_tensor_maps()) { return false; }
    const matrix_params g    = with_aligned_lines<Config>(stream, given);
    const tile_map_request a = make_a_map_request<Config>(g);
    const tile_map_request b = make_b_map_request<Config>(g);
    if(!is_possible(a) || !is_possible(b)) { return false; }
    hopper_matrix_params p{};
    p.work = make_matrix_work<Config>(g, multiprocessors() * Config::resident);
    if(p.work.tiles < 0) { return false; }

    // Of this kernel alone.
    static remembered_map<tile_map_request>& map_a = *new remembered_map<tile_map_request>;
    static remembered_map<tile_map_request>& map_b = *new remembered_map<tile_map_request>;
    p.a                                            = map_a.get(a, map_type(Config::ab_type));
    p.b                                            = map_b.get(b, map_type(Config::ab_type));
    using grid                                     = hopper_grid<Kernel, Config>;
    if(grid::prefers_clusters(p.work.sums)) { p.work.sums.cluster = g.k_batch; }
    else if(g.k_batch > 1) { grid::add_workspace(p.work.sums); }
    else
    {
        const int parts = grid::best_cluster(p.work.tiles, p.work.steps);
        if(parts > 1)
        {
            matrix_params split = g;
            split.k_batch       = parts;
            p.work = make_matrix_work<Config>(split, multiprocessors() * Config::resident);
            p.work.sums.cluster = parts;
        }
    }
    grid::start_blocks(p, {}, stream, g.e);
    return true;
}

template <typename Kernel, int BlocksPerUnit, typename KernelArgs>
void launch_matrix(cudaStream_t stream, const KernelArgs& kargs)
{
    using plan        = matrix_config_of<Kernel, BlocksPerUnit>;
    using partitioner = typename Kernel::TilePartitioner;
    using native      = typename plan::native;
    matrix_params p   = make_matrix_params(Kernel::make_call(kargs), native::e_bytes);
    if constexpr(takes_engine_w(plan::values) && CKPROF_CUDA_ENGINE_W)
    {
        using hopper = hopper_config<native, plan::values.hopper_stages, plan::values.turns>;
        if(launch_hopper_matrix<Kernel, hopper>(stream, p)) { return; }
    }
    using config = typename plan::type;
    using layout = shared_layout<config>;
    p.tiles      = partitioner::GridSize(p.m, p.n);
    start<Kernel>(
        &matrix_gemm<config, partitioner, plan::facts.k_mma, kernel_tag<Kernel, layout::bytes>>,
        linear_blocks(p),
        config::threads,
        layout::bytes,
        stream,
        p.k_batch == 1 ? p.e : nullptr,
        p);
}

} // namespace ck_tile::cuda_model::impl
