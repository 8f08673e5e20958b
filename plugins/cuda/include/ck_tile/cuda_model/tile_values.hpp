// SPDX-License-Identifier: MIT
// What an instance's configuration comes to on this device, as plain values: kernel templates take
// them at compile time, and src/execution.cpp tells them of instances that are not compiled.
#pragma once

#include "ck_tile/cuda_model/pipeline_plan.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"
#include "ck_tile/host_model/plain_gemm_facts.hpp"

// Shared memory that one multiprocessor has for blocks, in bytes; the build says so for other
// devices than the H100 and H200.
#if !defined(CKPROF_CUDA_SHARED_BYTES)
#define CKPROF_CUDA_SHARED_BYTES 233472
#endif

// Engine W is for devices of compute capability 9.0 alone.
#if !defined(CKPROF_CUDA_ENGINE_W)
#define CKPROF_CUDA_ENGINE_W 1
#endif

namespace ck_tile::cuda_model {

using host_model::data_type;
using host_model::direction;

constexpr int divide_up(int a, int b) { return (a + b - 1) / b; }

// Shared memory of a line of an operand: whole rows of 128 bytes, or a half or a quarter of one.
constexpr int padded_line_bytes(int used_bytes)
{
    return used_bytes >= 128 ? divide_up(used_bytes, 128) * 128
           : used_bytes > 64 ? 128
           : used_bytes > 32 ? 64
                             : 32;
}

constexpr int operand_bytes(int side, int depth, bool k_major, int element_bytes)
{ return (k_major ? side : depth) * padded_line_bytes((k_major ? depth : side) * element_bytes); }

// 8-bit operands of engine M become 16-bit ones on their way to shared memory, exactly.
constexpr data_type decoded_type(data_type type)
{
    switch(type)
    {
    // Its range is beyond that of fp16.
    case data_type::bf8_fnuz: return data_type::bf16;
    case data_type::fp8_fnuz:
    case data_type::fp8_ocp:
    case data_type::bf8_ocp:
    case data_type::int8: return data_type::fp16;
    default: return type;
    }
}

// What operands of two types are multiplied as.
constexpr data_type factor_type(data_type a, data_type b)
{ return decoded_type(a) == data_type::bf16 ? data_type::bf16 : decoded_type(b); }

// A tile, whatever its rows and columns stand for; m_warps to blocks are engine M's.
struct tile_values
{
    bool plain;        // a product of two matrices as they lie in memory
    bool weight;       // weight gradients
    bool deep;         // stages come before resident blocks
    data_type ab_type; // of factors, in memory
    data_type e_type;
    int m, n, k;
    bool a_k_major, b_k_major; // an operand's contiguous dimension is K
    int merged;                // groups
    int m_warps, n_warps;
    int stages;
    int blocks; // resident on a multiprocessor

    constexpr bool operator==(const tile_values&) const = default;
    constexpr int threads() const { return m_warps * n_warps * 32; }
};

// The tile, and what the pipeline asks of engine W.
struct instance_values
{
    tile_values tile;
    int hopper_stages;
    bool turns;
};

namespace impl {

// Resident blocks per multiprocessor: as many as asked for, if the registers hold that many
// accumulators.
constexpr int resident_blocks(int wanted, int tile_elements, int threads)
{
    const int accumulators = divide_up(tile_elements, threads);
    int blocks             = wanted < 1 ? 1 : wanted;
    while(blocks > 1 && blocks * threads * (accumulators + 64) > 65536) { --blocks; }
    return blocks;
}

constexpr int fitting_stages(int wanted, int stage_bytes, int rows, int blocks)
{
    // The runtime keeps 1 KiB per block; each row of a tile whose windows are known takes 8 bytes.
    const int room = CKPROF_CUDA_SHARED_BYTES / blocks - 1024 - (rows * 8 + 127) / 128 * 128;
    const int most = room / stage_bytes;
    return most < 1 ? 1 : (wanted < most ? wanted : most);
}

// Fills in the rest of a tile whose sides are known.
template <typename Facts>
constexpr instance_values complete(tile_values tile,
                                   const Facts& facts,
                                   const pipeline_plan& plan,
                                   bool double_buffer,
                                   int blocks_per_unit)
{
    // A wave of 64 lanes is two warps, one above the other in M.
    tile.m_warps         = 2 * facts.m_waves * facts.k_waves;
    tile.n_warps         = facts.n_waves;
    const bool interwave = same_text(facts.scheduler, "Interwave");
    // Engine M keeps the sums of a stage beside those of all where these are integers.
    const bool two_sums = !tile.plain && tile.ab_type == data_type::int8;
    tile.blocks         = resident_blocks(interwave && blocks_per_unit < 2 ? 2 : blocks_per_unit,
                                          tile.m * tile.n * (two_sums ? 2 : 1),
                                          tile.threads());
    const int element_bytes = host_model::size_of(decoded_type(tile.ab_type));
    const int stage_bytes   = operand_bytes(tile.m, tile.k, tile.a_k_major, element_bytes) +
                              operand_bytes(tile.n, tile.k, tile.b_k_major, element_bytes);
    tile.stages             = fitting_stages(double_buffer && plan.stages < 4 ? 4 : plan.stages,
                                             stage_bytes,
                                             tile.plain || tile.weight ? 0 : tile.m,
                                             tile.blocks);
    return {tile, plan.hopper_stages, plan.turns || double_buffer};
}

} // namespace impl

constexpr instance_values values_of(const host_model::kernel_facts& facts, int blocks_per_unit)
{
    tile_values tile{};
    tile.weight = facts.direction == direction::backward_weight;
    // Operands of fp32 can be rounded to TF32.
    tile.ab_type   = facts.tf32 ? data_type::tf32 : facts.a_type;
    tile.e_type    = facts.e_type;
    tile.m         = facts.m_per_block;
    tile.n         = facts.n_per_block;
    tile.k         = facts.k_per_block;
    tile.a_k_major = !tile.weight;
    tile.b_k_major = facts.direction == direction::forward;
    tile.merged    = facts.direction == direction::backward_data ? 1 : facts.groups_to_merge;
    return impl::complete(tile,
                          facts,
                          find_pipeline_plan(facts.pipeline_name),
                          facts.double_smem_buffer,
                          blocks_per_unit);
}

constexpr instance_values values_of(const host_model::plain_gemm_facts& facts,
                                    const char* pipeline_name,
                                    bool double_buffer,
                                    int blocks_per_unit)
{
    const pipeline_plan plan = find_pipeline_plan(pipeline_name);
    tile_values tile{};
    tile.plain   = true;
    tile.deep    = same_text(plan.name, "MEMORY");
    tile.ab_type = facts.a_type;
    tile.e_type  = facts.e_type;
    tile.m       = facts.m_per_block;
    tile.n       = facts.n_per_block;
    // Several steps of an instance with a very flat tile are taken at once.
    tile.k         = divide_up(facts.k_per_block, 16) * 16;
    tile.a_k_major = facts.a_row_major;
    tile.b_k_major = !facts.b_row_major;
    tile.merged    = 1;
    return impl::complete(tile, facts, plan, double_buffer, blocks_per_unit);
}

} // namespace ck_tile::cuda_model
