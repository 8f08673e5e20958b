// SPDX-License-Identifier: MIT
// The compile-time side of engine W: how an instance's tile is shared among warpgroups.
#pragma once

#include "ck_tile/cuda_model/hopper_plan.hpp"
#include "ck_tile/cuda_model/tile_config.hpp"

namespace ck_tile::cuda_model {

// Base is the tile_config of the same instance; m, n, a and b here are those of products.
// TakeTurns: consumers take turns with tiles of their own instead of sharing one.
template <typename Base, int WantedStages, bool TakeTurns>
struct hopper_config : Base
{
    using tile = Base;

    static constexpr hopper_plan plan =
        plan_hopper(values_of_tile<Base>(), WantedStages, TakeTurns);

    static constexpr bool transposed = plan.transposed;
    static constexpr int m = plan.m, n = plan.n;
    static constexpr int tile_m = plan.tile_m, tile_n = plan.tile_n;
    static constexpr bool a_k_major = plan.a_k_major, b_k_major = plan.b_k_major;

    static constexpr bool turns     = plan.turns;
    static constexpr int warpgroups = plan.warpgroups;
    static constexpr int own_blocks = plan.own_blocks;
    // Can add parts of K. Of TF32, which is for forward, there are few registers left.
    static constexpr bool clusters = !turns && !transposed && Base::ab_type != data_type::tf32;
    static constexpr int threads   = plan.threads();

    static constexpr int columns_per_chunk = n < 64 ? n : 64;
    static constexpr int column_chunks     = (n + 63) / 64;
    static constexpr int a_bytes = plan.a_bytes, b_bytes = plan.b_bytes;
    static constexpr int stage_bytes = plan.stage_bytes();
    // Copies count whole boxes; a stage can be larger by its alignment.
    static constexpr int stage_bytes_copied =
        a_bytes + (b_k_major ? n * hopper_row_bytes : b_bytes);
    // Where windows and filters are in a stage.
    static constexpr int windows_at = transposed ? a_bytes : 0;
    static constexpr int filters_at = transposed ? 0 : a_bytes;
    // Of 64 channels, where those of filters are contiguous.
    static constexpr int filter_chunks = transposed ? m / 64 : column_chunks;

    static constexpr int staged_columns     = plan.staged_columns;
    static constexpr int staging_lines      = plan.staging_lines;
    static constexpr int staging_line_bytes = plan.staging_line_bytes;
    static constexpr int staging_bytes      = plan.staging_bytes();

    // Elements of K in one stage.
    static constexpr int k_elements = hopper_row_bytes / Base::ab_bytes;

    static constexpr int producer_registers = hopper_plan::producer_registers;

    static constexpr int resident     = plan.resident;
    static constexpr int stages       = plan.stages;
    static constexpr int shared_bytes = 1024 + stages * stage_bytes + staging_bytes + 1024;
};

template <typename Base>
inline constexpr bool hopper_tile = is_hopper_tile(values_of_tile<Base>());

} // namespace ck_tile::cuda_model
