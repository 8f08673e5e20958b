// SPDX-License-Identifier: MIT
// The compile-time side of an implicit GEMM on this device. Kernels that differ only in fields
// without meaning here share one tile_config, and with it their machine code.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ck_tile/cuda_model/tile_values.hpp"

namespace ck_tile::cuda_model {

using ck_tile::bf16_rounding_mode;

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
    static constexpr int line_bytes = padded_line_bytes(used_bytes);
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

// Sums are stored as they are; see fused_operation.hpp.
struct no_operation
{ static constexpr bool exists = false; };

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

    // What is done with sums on their way to memory.
    using fused = no_operation;
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
    // In memory, where that is not the type in shared memory.
    static constexpr data_type a_memory = AB, b_memory = AB;
};

// The same with operands that become those in shared memory on their way to it.
template <typename Tile, data_type A, data_type B>
struct decoding : Tile
{
    static constexpr data_type a_memory = A, b_memory = B;
    static constexpr bool integer = A == data_type::int8;
};

// A tile_config's or matrix_config's values.
template <typename Base>
constexpr tile_values values_of_tile()
{
    return {.plain     = Base::plain,
            .weight    = Base::weight,
            .deep      = Base::deep,
            .ab_type   = Base::ab_type,
            .e_type    = Base::e_type,
            .m         = Base::m,
            .n         = Base::n,
            .k         = Base::k,
            .a_k_major = Base::a_k_major,
            .b_k_major = Base::b_k_major,
            .merged    = Base::merged,
            .m_warps   = Base::m_warps,
            .n_warps   = Base::n_warps,
            .stages    = Base::stages,
            .blocks    = Base::blocks};
}

// From a kernel's facts to its tile_config.
template <typename Kernel, int BlocksPerUnit>
struct tile_config_of
{
    static constexpr host_model::kernel_facts facts = Kernel::facts;

    static constexpr bool bytes = host_model::size_of(facts.a_type) == 1;

    static_assert(facts.a_type == facts.b_type || bytes, "operands of different types");
    static_assert(facts.m_per_block % 16 == 0 && facts.n_per_block % 16 == 0 &&
                      facts.k_per_block % 16 == 0,
                  "on this device every side of a tile is a multiple of 16");

    static constexpr instance_values values = values_of(facts, BlocksPerUnit);
    static constexpr tile_values tile       = values.tile;

    static constexpr data_type factor =
        bytes ? factor_type(facts.a_type, facts.b_type) : tile.ab_type;
    static constexpr int ab_bytes = host_model::size_of(tile.ab_type); // in memory
    // Of 8 bits, no more are stored at once than of 16: some warps have so few columns.
    static constexpr int result_bytes = host_model::size_of(facts.e_type);
    static constexpr int e_bytes      = result_bytes == 1 ? 2 : result_bytes;
    static constexpr bool scalar =
        facts.direction == direction::forward && facts.groups_to_merge > 1;

    using shared = tile_config<facts.direction,
                               facts.num_dim_spatial,
                               factor,
                               facts.e_type,
                               facts.rounding,
                               tile.m,
                               tile.n,
                               tile.k,
                               tile.m_warps,
                               tile.n_warps,
                               scalar ? 1 : usable_vector(facts.vector_size_a, ab_bytes),
                               scalar ? 1 : usable_vector(facts.vector_size_b, ab_bytes),
                               scalar ? 1 : usable_vector(facts.vector_size_c, e_bytes),
                               tile.merged,
                               tile.stages,
                               tile.blocks>;

    static_assert(bytes || values_of_tile<shared>() == tile);

    using type = std::conditional_t<bytes, decoding<shared, facts.a_type, facts.b_type>, shared>;
};

} // namespace ck_tile::cuda_model
