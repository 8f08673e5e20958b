// SPDX-License-Identifier: MIT
// The grid of engine W's persistent kernel: blocks that stay, and clusters where parts of K are
// added by them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "ck_tile/core/utility/hip_check_error.hpp"
#include "ck_tile/cuda_model/hopper_gemm.hpp"
#include "ck_tile/cuda_model/start.hpp"
#include "ck_tile/cuda_model/workspace.hpp"

namespace ck_tile::cuda_model::impl {

template <typename Kernel>
struct hopper_tag;

// The persistent kernel of an instance, and what a launch of it takes.
template <typename Kernel, typename Config>
struct hopper_grid
{
    static constexpr auto function = &hopper_gemm<kernel_tag<Kernel, Config::shared_bytes>, Config>;

    // Clusters of so many blocks that the device runs at the same time; 0: none.
    static int resident_clusters(int blocks)
    {
        static std::array<int, most_cluster_blocks + 1> known{};
        int& count = known[static_cast<std::size_t>(blocks)];
        if(count != 0) { return count - 1; }
        allow_shared_memory<hopper_tag<Kernel>>(function, Config::shared_bytes);
        cudaLaunchAttribute attribute{};
        const unsigned size = static_cast<unsigned>(blocks);
        const cudaLaunchConfig_t config =
            launch_config({size, size}, Config::threads, Config::shared_bytes, nullptr, attribute);
        int answer = 0;
        // A device that has no such clusters says so by an error.
        if(cudaOccupancyMaxActiveClusters(&answer, function, &config) != cudaSuccess)
        {
            static_cast<void>(cudaGetLastError());
            answer = 0;
        }
        count = answer + 1;
        return answer;
    }

    // Whether the parts of a tile are best added by the blocks of a cluster: where all of them
    // run at the same time, and their sums fit where operands were.
    static bool prefers_clusters(const part_sums& s)
    {
        if constexpr(!Config::clusters) { return false; }
        using shares = cluster_shares<Config::m, Config::n>;
        return s.parts > 1 && s.parts <= most_cluster_blocks &&
               shares::room(s.parts) <= Config::stages * Config::stage_bytes &&
               s.tiles <= resident_clusters(s.parts);
    }

    // Blocks of a cluster that share a tile's reduction of so many steps, where nobody has asked
    // for parts of K; 1: none.
    static int best_cluster(int tiles, int steps)
    {
        if constexpr(!Config::clusters) { return 1; }
        else
        {
            using shares = cluster_shares<Config::m, Config::n>;
            return choose_cluster(tiles, steps, multiprocessors(), [](int blocks) {
                return shares::room(blocks) <= Config::stages * Config::stage_bytes
                           ? resident_clusters(blocks)
                           : 0;
            });
        }
    }

    // Memory for sums, a tile after the other, and after them the counters of tiles: all of it
    // zero whenever no kernel runs.
    static void add_workspace(part_sums& s)
    {
        const auto tiles       = static_cast<std::size_t>(s.tiles);
        const std::size_t sums = tiles * Config::m * Config::n * 4;
        char* workspace = static_cast<char*>(workspace_of<part_sums, true>(sums + tiles * 4));
        s.partial       = workspace;
        s.arrived       = reinterpret_cast<unsigned*>(workspace + sums);
    }

    // `written` as start() has it.
    // `early`: the kernel before copies operands.
    static void start_blocks(const hopper_params_of<Config>& p,
                             const typename Config::fused& fused,
                             cudaStream_t stream,
                             const void* written,
                             bool early = false)
    {
        const int cluster = p.work.sums.cluster;
        const int room    = cluster > 1 ? resident_clusters(cluster) * cluster
                                        : multiprocessors() * Config::resident;
        grid_blocks blocks{static_cast<unsigned>(std::min(p.work.tiles, room)),
                           static_cast<unsigned>(cluster)};
        // Blocks that come early would crowd on some multiprocessors if not all of them are needed.
        blocks.early = early && cluster == 1 && (Config::resident == 1 || p.work.tiles >= room);
        start<hopper_tag<Kernel>>(
            function, blocks, Config::threads, Config::shared_bytes, stream, written, p, fused);
    }
};

} // namespace ck_tile::cuda_model::impl
