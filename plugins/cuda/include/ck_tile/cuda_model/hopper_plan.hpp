// SPDX-License-Identifier: MIT
// How engine W shares an instance's tile among warpgroups, and which tiles it takes, as plain
// values. Usable without a GPU.
#pragma once

#include "ck_tile/cuda_model/matrix_descriptor.hpp"
#include "ck_tile/cuda_model/tile_values.hpp"

namespace ck_tile::cuda_model {

// m, n, a and b are those of products, tile_m and tile_n what of the GEMM a block computes.
struct hopper_plan
{
    bool transposed;
    int m, n;
    int tile_m, tile_n;
    bool a_k_major, b_k_major;
    bool turns;     // consumers take turns with tiles of their own instead of sharing one
    int warpgroups; // that compute: 1, 2 or 3
    int own_blocks; // of 64 rows
    int a_bytes, b_bytes;
    // On its way to memory a warpgroup's result is 64 rows of up to 64 columns, or so many columns
    // of 64 rows.
    int staged_columns, staging_lines, staging_line_bytes;
    int resident; // blocks of a multiprocessor
    int stages;

    static constexpr int producer_registers = 40;

    constexpr int threads() const { return (warpgroups + 1) * 128; }  // the last warpgroup copies
    constexpr int accumulators() const { return own_blocks * n / 2; } // of a thread
    constexpr int stage_bytes() const { return a_bytes + b_bytes; }
    constexpr int staging_bytes() const { return warpgroups * staging_lines * staging_line_bytes; }

    // Of shared memory, for stages: beside them are alignment, barriers and staged results.
    constexpr int room(int blocks) const
    { return CKPROF_CUDA_SHARED_BYTES / blocks - 3072 - staging_bytes(); }

    // Registers of a thread when the kernel starts, and after the copying warpgroup has given up
    // what it does not need.
    constexpr int registers_at_start(int blocks) const
    { return 65536 / (threads() * blocks) / 8 * 8; }
    constexpr int consumer_registers(int blocks) const
    {
        const int start = registers_at_start(blocks) < 240 ? registers_at_start(blocks) : 240;
        const int most  = start + (start - producer_registers) / warpgroups / 8 * 8;
        return most < 240 ? most : 240;
    }

    // An instruction must fit into the registers of the start.
    constexpr bool holds(int blocks, int least_stages) const
    {
        return room(blocks) >= least_stages * stage_bytes() &&
               consumer_registers(blocks) >= accumulators() + 40 &&
               registers_at_start(blocks) >= n / 2 + 32;
    }
};

// Products have multiples of 64 rows, and of 8 columns. A convolution's tile that has the former
// along N alone is computed transposed: channels are the rows of its products.
constexpr bool is_transposed(const tile_values& tile)
{ return !tile.plain && !tile.weight && tile.m % 64 != 0 && tile.n % 64 == 0; }

constexpr hopper_plan plan_hopper(const tile_values& tile, int wanted_stages, bool take_turns)
{
    hopper_plan p{};
    p.transposed   = is_transposed(tile);
    const int rows = p.transposed ? tile.n : tile.m;
    // Tiles that the register file cannot hold are computed in halves.
    p.n         = p.transposed ? tile.m : tile.n;
    p.m         = rows == 256 && p.n > 128 ? 128 : rows;
    p.tile_m    = p.transposed ? p.n : p.m;
    p.tile_n    = p.transposed ? p.m : p.n;
    p.a_k_major = p.transposed ? tile.b_k_major : tile.a_k_major;
    p.b_k_major = p.transposed ? tile.a_k_major : tile.b_k_major;

    const int blocks_m = p.m / 64; // of 64 rows
    p.turns            = take_turns && blocks_m * p.n / 2 <= 128;
    p.warpgroups       = p.turns || blocks_m == 4 ? 2 : blocks_m;
    p.own_blocks       = p.turns ? blocks_m : blocks_m / p.warpgroups;

    // Rows of 128 bytes: K elements of a row or column, or 64 rows or columns of one K.
    p.a_bytes = p.m * hopper_row_bytes;
    p.b_bytes = p.b_k_major ? divide_up(p.n * hopper_row_bytes, 1024) * 1024
                            : divide_up(p.n, 64) * hopper_chunk_bytes;

    p.staged_columns = p.n % 64 == 0 ? 64 : p.n % 32 == 0 ? 32 : 16;
    p.staging_lines  = p.transposed ? p.staged_columns : 64;
    p.staging_line_bytes =
        (p.transposed ? 64 : p.staged_columns) * host_model::size_of(tile.e_type) + 16;

    // Two resident blocks where the scheduler asks for them, more of those with one warpgroup; but
    // a deep pipeline is not cut short for that.
    const int least = tile.deep || wanted_stages < 3           ? wanted_stages
                      : wanted_stages >= 8 && p.warpgroups > 1 ? 4
                                                               : 3;
    p.resident      = p.warpgroups == 1 ? 3 : tile.blocks;
    while(p.resident > 1 && !p.holds(p.resident, least)) { --p.resident; }
    const int fitting = p.room(p.resident) / p.stage_bytes();
    p.stages          = fitting < wanted_stages ? fitting : wanted_stages;
    return p;
}

// Whether warpgroup products take operands of that type as they are.
constexpr bool has_warpgroup_product(data_type type)
{
    return type == data_type::fp16 || type == data_type::bf16 || type == data_type::fp8_ocp ||
           type == data_type::bf8_ocp || type == data_type::int8 || type == data_type::tf32;
}

// Columns that warpgroup products exist for; see wgmma_products.hpp.
constexpr bool is_product_width(int columns)
{
    return columns == 16 || columns == 32 || columns == 64 || columns == 96 || columns == 128 ||
           columns == 192 || columns == 224 || columns == 256;
}

// Whether engine W can compute the tile at all. Elements of other sizes than 16 bits are multiplied
// where all lie along K; windows of 8 bits are not cut.
constexpr bool is_hopper_tile(const tile_values& tile)
{
    const int rows    = is_transposed(tile) ? tile.n : tile.m;
    const int columns = is_transposed(tile) ? tile.m : tile.n;
    const int bytes   = host_model::size_of(tile.ab_type);
    return has_warpgroup_product(tile.ab_type) && (tile.plain || bytes > 1) &&
           (bytes == 2 || (tile.a_k_major && tile.b_k_major)) && rows % 64 == 0 && rows <= 256 &&
           is_product_width(columns) &&
           (tile.b_k_major || is_transposed(tile) || tile.n <= 64 || tile.n % 64 == 0) &&
           (tile.weight || tile.merged == 1) && !(rows == 192 && columns > 128);
}

// Whether engine W has an instance's kernel, for the problems that it takes.
constexpr bool takes_engine_w(const instance_values& values)
{
    return is_hopper_tile(values.tile) &&
           plan_hopper(values.tile, values.hopper_stages, values.turns).stages >= 2;
}

} // namespace ck_tile::cuda_model
