// SPDX-License-Identifier: MIT
// The compile-time side of an implicit GEMM on this device. Kernels that differ only in fields
// without meaning here share one tile_config, and with it their machine code.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/pipeline_plan.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"

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

using ck_tile::bf16_rounding_mode;
using host_model::data_type;
using host_model::direction;

constexpr int divide_up(int a, int b) { return (a + b - 1) / b; }

// The largest power of two that divides a vector width and is at most 16 bytes.
constexpr int usable_vector(int elements, int element_bytes)
{
    int width = 1;
    while(elements % (width * 2) == 0 && width * 2 * element_bytes <= 16) { width *= 2; }
    return width;
}

// The lines of an operand in shared memory: of a side's rows or columns, or of the depth. Rows of
// 128 bytes hold a part of a line, one or several; a line is lengthened to such a length. The
// 16-byte units of a row change places, by a number that belongs to the line: so the same unit of
// eight neighbouring lines is in different banks, and a row is written at once.
template <int Side, int Depth, bool KMajor, int ElementBytes>
struct operand_layout
{
    static constexpr int lines      = KMajor ? Side : Depth;
    static constexpr int elements   = KMajor ? Depth : Side; // of a line
    static constexpr int used_bytes = elements * ElementBytes;
    static constexpr int line_bytes = used_bytes >= 128 ? divide_up(used_bytes, 128) * 128
                                      : used_bytes > 64 ? 128
                                      : used_bytes > 32 ? 64
                                                        : 32;
    static constexpr int together   = line_bytes < 128 ? 128 / line_bytes : 1; // lines of a row
    static constexpr int bytes      = lines * line_bytes;

    // Lines whose number differs by this have their units in the same places.
    static constexpr int period = 8;

    // What a line's units are exchanged by. Where words are read of four lines at a time, 32 bytes
    // of each, pairs of units stay together.
    static constexpr bool words = ElementBytes == 4 && !KMajor;
    static constexpr int exchange(int line)
    { return words ? line % 4 * 2 : line / together % (8 / together); }

    // The place of a byte of a line.
    static constexpr int at(int line, int byte)
    {
        const int linear = line * line_bytes + byte;
        return linear ^ (exchange(line) * 16);
    }
};

// What a tile is, whatever its rows and columns stand for. AKMajor, BKMajor: whether an operand's
// contiguous dimension is K.
template <data_type AB,
          data_type E,
          bf16_rounding_mode Rounding,
          int M,
          int N,
          int K,
          int MWarps,
          int NWarps,
          int VectorA,
          int VectorB,
          int VectorC,
          bool AKMajor,
          bool BKMajor,
          int Stages,
          int Blocks>
struct tile_shape
{
    static constexpr data_type ab_type           = AB;
    static constexpr data_type e_type            = E;
    static constexpr bf16_rounding_mode rounding = Rounding;

    static constexpr int m = M, n = N, k = K;
    static constexpr int ab_bytes = host_model::size_of(AB);
    static constexpr int e_bytes  = host_model::size_of(E);

    // Warps that are wanted along M and N; threads of a block.
    static constexpr int m_warps = MWarps, n_warps = NWarps;
    static constexpr int threads = MWarps * NWarps * 32;

    static constexpr int vector_a = VectorA, vector_b = VectorB, vector_c = VectorC;

    static constexpr bool a_k_major = AKMajor, b_k_major = BKMajor;

    using a_layout = operand_layout<M, K, AKMajor, ab_bytes>;
    using b_layout = operand_layout<N, K, BKMajor, ab_bytes>;

    static constexpr int a_bytes     = a_layout::bytes;
    static constexpr int stage_bytes = a_bytes + b_layout::bytes;
    static constexpr int stages      = Stages;
    static constexpr int blocks      = Blocks;

    // Registers of a thread; those beside the accumulators, which engine M keeps them in.
    static constexpr int registers =
        65536 / (threads * blocks) < 255 ? 65536 / (threads * blocks) : 255;
    static constexpr int free_registers = registers - divide_up(M * N, threads);
};

template <direction Direction,
          int Dimensions,
          data_type AB,
          data_type E,
          bf16_rounding_mode Rounding,
          int M,
          int N,
          int K,
          int MWarps,
          int NWarps,
          int VectorA,
          int VectorB,
          int VectorC,
          int Merged,
          int Stages,
          int Blocks>
struct tile_config : tile_shape<AB,
                                E,
                                Rounding,
                                M,
                                N,
                                K,
                                MWarps,
                                NWarps,
                                VectorA,
                                VectorB,
                                VectorC,
                                Direction != direction::backward_weight,
                                Direction == direction::forward,
                                Stages,
                                Blocks>
{
    static constexpr host_model::direction direction = Direction;
    static constexpr int dimensions                  = Dimensions;
    static constexpr int merged                      = Merged;

    // A convolution, not a product of two matrices as they lie in memory.
    static constexpr bool plain   = false;
    static constexpr bool weight  = Direction == direction::backward_weight;
    static constexpr bool integer = false;
    // Stages come before resident blocks.
    static constexpr bool deep = false;
    // The type in shared memory, where it is not that of the operands.
    static constexpr data_type memory_type = AB;
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

} // namespace impl

// From a kernel's facts to its tile_config.
template <typename Kernel, int BlocksPerUnit>
struct tile_config_of
{
    static constexpr host_model::kernel_facts facts = Kernel::facts;

    static_assert(facts.a_type == facts.b_type, "operands of different types");
    static_assert(facts.m_per_block % 16 == 0 && facts.n_per_block % 16 == 0 &&
                      facts.k_per_block % 16 == 0,
                  "on this device every side of a tile is a multiple of 16");

    // What is multiplied: operands of fp32 can be rounded to TF32.
    static constexpr data_type factor = facts.tf32 ? data_type::tf32 : facts.a_type;

    // A wave of 64 lanes is two warps, one above the other in M.
    static constexpr int m_warps    = 2 * facts.m_waves * facts.k_waves;
    static constexpr int n_warps    = facts.n_waves;
    static constexpr int threads    = m_warps * n_warps * 32;
    static constexpr int ab_bytes   = host_model::size_of(factor);
    static constexpr bool weight    = facts.direction == direction::backward_weight;
    static constexpr bool forward   = facts.direction == direction::forward;
    static constexpr bool scalar    = forward && facts.groups_to_merge > 1;
    static constexpr bool interwave = same_text(facts.scheduler, "Interwave");

    static constexpr int blocks =
        impl::resident_blocks(interwave && BlocksPerUnit < 2 ? 2 : BlocksPerUnit,
                              facts.m_per_block* facts.n_per_block,
                              threads);

    static constexpr int stage_bytes =
        operand_layout<facts.m_per_block, facts.k_per_block, !weight, ab_bytes>::bytes +
        operand_layout<facts.n_per_block, facts.k_per_block, forward, ab_bytes>::bytes;

    static constexpr pipeline_plan plan = find_pipeline_plan(facts.pipeline_name);
    static constexpr int wanted         = plan.stages;
    static constexpr int hopper_stages  = plan.hopper_stages;
    static constexpr bool turns         = plan.turns || facts.double_smem_buffer;

    using type =
        tile_config<facts.direction,
                    facts.num_dim_spatial,
                    factor,
                    facts.e_type,
                    facts.rounding,
                    facts.m_per_block,
                    facts.n_per_block,
                    facts.k_per_block,
                    m_warps,
                    n_warps,
                    scalar ? 1 : usable_vector(facts.vector_size_a, ab_bytes),
                    scalar ? 1 : usable_vector(facts.vector_size_b, ab_bytes),
                    scalar ? 1
                           : usable_vector(facts.vector_size_c, host_model::size_of(facts.e_type)),
                    facts.direction == direction::backward_data ? 1 : facts.groups_to_merge,
                    impl::fitting_stages(facts.double_smem_buffer&& wanted < 4 ? 4 : wanted,
                                         stage_bytes,
                                         weight ? 0 : facts.m_per_block,
                                         blocks),
                    blocks>;
};

} // namespace ck_tile::cuda_model
