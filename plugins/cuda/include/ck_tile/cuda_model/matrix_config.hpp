// SPDX-License-Identifier: MIT
// The compile-time side of a product of two matrices: from a kernel's facts to the tile of each
// engine.
#pragma once

#include <cstddef>
#include <numeric>
#include <utility>

#include "ck_tile/cuda_model/tile_config.hpp"
#include "ck_tile/host_model/plain_gemm_facts.hpp"

namespace ck_tile::cuda_model {

// The D tensors of a kernel, and what becomes of the product and them.
template <host_model::d_operation Operation, data_type... Types>
struct combination
{
    static constexpr host_model::d_operation operation = Operation;
    static constexpr int count                         = sizeof...(Types);
    static constexpr data_type types[count + 1]        = {Types..., data_type::fp32};
};

// Memory: the type of the operands there, if it is not AB, the one in shared memory.
template <data_type Memory,
          data_type AB,
          data_type E,
          bool Deep,
          typename Combination,
          typename Shape>
struct matrix_config : Shape
{
    static constexpr bool plain   = true;
    static constexpr bool weight  = false;
    static constexpr bool integer = host_model::is_integer(E);
    static constexpr int merged   = 1;
    static constexpr bool deep    = Deep;

    static constexpr data_type a_memory = Memory, b_memory = Memory;

    using d_tensors = Combination;

    // Elements of neighbouring columns that are put into memory together.
    static constexpr int result_vector = AB == data_type::fp32 ? 1 : 16 / Shape::e_bytes;
};

template <typename Kernel, int BlocksPerUnit>
struct matrix_config_of
{
    static constexpr host_model::plain_gemm_facts facts = Kernel::facts;

    static_assert(facts.a_type == facts.b_type, "operands of different types");
    static_assert(facts.e_row_major, "on this device the result is row-major");
    static_assert(facts.m_per_block % 16 == 0 && facts.n_per_block % 16 == 0,
                  "on this device rows and columns of a tile are multiples of 16");

    static constexpr instance_values values = values_of(facts,
                                                        Kernel::GemmPipeline::facts.name,
                                                        Kernel::GemmPipeline::DoubleSmemBuffer,
                                                        BlocksPerUnit);
    static constexpr tile_values tile       = values.tile;
    static constexpr int memory_bytes       = host_model::size_of(facts.a_type);

    // Parts of K start at multiples of the MMA tile's depth.
    static constexpr int vector(int width, bool along_k)
    { return usable_vector(along_k ? std::gcd(width, facts.k_mma) : width, memory_bytes); }

    template <std::size_t... D>
    static combination<facts.d_count == 0 ? host_model::d_operation::none : facts.operation,
                       facts.d_types[D]...>
        combination_of(std::index_sequence<D...>);

    template <data_type AB>
    using config = matrix_config<
        facts.a_type,
        AB,
        facts.e_type,
        tile.deep,
        decltype(combination_of(
            std::make_index_sequence<static_cast<std::size_t>(facts.d_count)>{})),
        tile_shape<AB,
                   facts.e_type,
                   facts.rounding,
                   tile.m,
                   tile.n,
                   tile.k,
                   tile.m_warps,
                   tile.n_warps,
                   vector(facts.vector_size_a, tile.a_k_major),
                   vector(facts.vector_size_b, tile.b_k_major),
                   usable_vector(facts.vector_size_c, host_model::size_of(facts.e_type)),
                   tile.a_k_major,
                   tile.b_k_major,
                   tile.stages,
                   tile.blocks>>;

    // Engine M's tile, and engine W's, which holds operands as they are in memory.
    using type   = config<decoded_type(facts.a_type)>;
    using native = config<facts.a_type>;

    static_assert(values_of_tile<native>() == tile);
};

} // namespace ck_tile::cuda_model
