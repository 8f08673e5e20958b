// SPDX-License-Identifier: MIT
// Executes the blocks of a grid on a persistent pool of threads.
#pragma once

#include "ck_tile/core/config.hpp"
#include "ck_tile/core/utility/hip_types.hpp"

namespace ck_tile::host_model {

class block_order;

// Position of a block in its grid, and the grid's size (blockIdx and gridDim of a GPU).
struct block_position
{
    std::uint32_t x, y, z;
    dim3 grid;
    block_order* order = nullptr; // of the grid in execution; none where chosen blocks are executed
};

using block_function = void (*)(const void* context, const block_position& block);

// Calls function(context, block) once for each block of the grid, x fastest, handed out in order.
// Returns when all are done. The first exception of a block stops the hand-out and is rethrown
// here. Launches from several threads are executed one after the other.
CK_TILE_HOST_MODEL_API void
run_grid(const dim3& grid, block_function function, const void* context);

// While one lives, no other block of the same x and y has one; they get theirs in the order of z.
// Every block takes one, or none of its x and y does. Since blocks are handed out in that order,
// nobody waits for a block that has not been started. Throws std::runtime_error if a block failed.
class ordered_turn
{
public:
    CK_TILE_HOST_MODEL_API explicit ordered_turn(const block_position& block);
    CK_TILE_HOST_MODEL_API ~ordered_turn();

    ordered_turn(const ordered_turn&)            = delete;
    ordered_turn& operator=(const ordered_turn&) = delete;

private:
    const block_position& block_;
};

} // namespace ck_tile::host_model
