// SPDX-License-Identifier: MIT
// The launch of a product of two matrices: on engine W if its tile and its lines in memory allow
// that, else on engine M.
#pragma once

#include <algorithm>

#include "ck_tile/cuda_model/hopper_launch.hpp"
#include "ck_tile/cuda_model/hopper_matrix_work.hpp"
#include "ck_tile/cuda_model/matrix_config.hpp"
#include "ck_tile/cuda_model/matrix_gemm.hpp"
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

// Starts engine W unless the problem is one for engine M.
template <typename Kernel, typename Config>
bool launch_hopper_matrix(cudaStream_t stream, const matrix_params& g)
{
    const tile_map_request a = make_a_map_request<Config>(g);
    const tile_map_request b = make_b_map_request<Config>(g);
    if(!makes_tensor_maps() || !is_possible(a) || !is_possible(b)) { return false; }
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
    grid::start_blocks(p, stream, g.e);
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
