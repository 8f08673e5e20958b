// SPDX-License-Identifier: MIT
// Executes the blocks of a grid on a persistent pool of threads.
#pragma once

#include "ck_tile/core/config.hpp"
#include "ck_tile/core/utility/hip_types.hpp"

namespace ck_tile::host_model {

// Position of a block in its grid, and the grid's size (blockIdx and gridDim of a GPU).
struct block_position
{
    std::uint32_t x, y, z;
    dim3 grid;
};

using block_function = void (*)(const void* context, const block_position& block);

// Calls function(context, block) once for each block of the grid, x fastest, handed out in order.
// Returns when all are done. The first exception of a block stops the hand-out and is rethrown
// here. Launches from several threads are executed one after the other.
CK_TILE_HOST_MODEL_API void
run_grid(const dim3& grid, block_function function, const void* context);

} // namespace ck_tile::host_model
