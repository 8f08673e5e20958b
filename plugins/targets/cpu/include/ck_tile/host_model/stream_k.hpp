// SPDX-License-Identifier: MIT
// Stream-K: work is dealt out in K blocks instead of tiles, so that all workgroups get the same
// share.
#pragma once

#include <cstdint>

#include "ck_tile/core/config.hpp"
#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"

namespace ck_tile::host_model {

// Tiles 0 .. dp_tiles-1 are data parallel: one workgroup computes one wholly. The K blocks of the
// rest form one sequence that sk_ctas workgroups share evenly, the first `extra` taking one more.
struct stream_k_plan
{
    std::int64_t loops;   // K blocks per tile
    std::int64_t n_tiles; // tiles per tile row
    std::int64_t tiles;
    std::int64_t dp_tiles;
    std::int64_t sk_ctas;
    std::int64_t per_cta;
    std::int64_t extra;
    std::int64_t workgroups;

    // First K block of stream-K workgroup c, counted over all tiles; also the end of workgroup c
    // - 1.
    constexpr std::int64_t start(std::int64_t c) const
    { return dp_tiles * loops + c * per_cta + (c < extra ? c : extra); }

    // Bytes of the flags, one 32-bit word per workgroup, ahead of the partial tiles.
    constexpr std::int64_t flag_bytes() const { return (sk_ctas * 4 + 127) / 128 * 128; }

    constexpr std::int64_t workspace_bytes(std::int64_t tile_elements) const
    { return sk_ctas == 0 ? 0 : flag_bytes() + sk_ctas * tile_elements * 4; }
};

constexpr stream_k_plan make_stream_k_plan(std::int64_t m_tiles,
                                           std::int64_t n_tiles,
                                           std::int64_t loops,
                                           std::int64_t workgroups)
{
    stream_k_plan plan{};
    plan.loops              = loops;
    plan.n_tiles            = n_tiles;
    plan.tiles              = m_tiles * n_tiles;
    plan.workgroups         = workgroups;
    const std::int64_t left = plan.tiles % workgroups;
    std::int64_t sk_tiles   = 0;
    if(left != 0)
    {
        sk_tiles = plan.tiles > workgroups ? workgroups + left : plan.tiles;
        if(sk_tiles * loops < workgroups) { sk_tiles = 0; }
    }
    plan.sk_ctas  = sk_tiles == 0 ? 0 : workgroups;
    plan.dp_tiles = plan.tiles - sk_tiles;
    if(plan.sk_ctas != 0)
    {
        plan.per_cta = sk_tiles * loops / plan.sk_ctas;
        plan.extra   = sk_tiles * loops % plan.sk_ctas;
    }
    return plan;
}

// Executes block x of the grid. Workgroups wait only for workgroups of larger number, therefore the
// grid runs from its last block to its first: whatever the number of threads, nobody waits for a
// block that has not been started.
CK_TILE_HOST_MODEL_API void run_stream_k_block(const kernel_facts& facts,
                                               const backward_weight_call& call,
                                               const stream_k_plan& plan,
                                               void* workspace,
                                               const block_position& block);

} // namespace ck_tile::host_model
