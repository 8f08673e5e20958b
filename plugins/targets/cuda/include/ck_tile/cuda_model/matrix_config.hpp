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

    static constexpr data_type memory_type = Memory;

    using d_tensors = Combination;

    // Elements of neighbouring columns that are put into memory together.
    static constexpr int result_vector = AB == data_type::fp32 ? 1 : 16 / Shape::e_bytes;
};

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

// Whether warpgroup products take operands of that type as they are.
constexpr bool has_warpgroup_product(data_type type)
{
    return type == data_type::fp16 || type == data_type::bf16 || type == data_type::fp8_ocp ||
           type == data_type::bf8_ocp || type == data_type::int8;
}

template <typename Kernel, int BlocksPerUnit>
struct matrix_config_of
{
    static constexpr host_model::plain_gemm_facts facts = Kernel::facts;

    static_assert(facts.a_type == facts.b_type, "operands of different types");
    static_assert(facts.e_row_major, "on this device the result is row-major");
    static_assert(facts.m_per_block % 16 == 0 && facts.n_per_block % 16 == 0,
                  "on this device rows and columns of a tile are multiples of 16");

    static constexpr int m = facts.m_per_block, n = facts.n_per_block;
    // Several steps of an instance with a very flat tile are taken at once.
    static constexpr int k = divide_up(facts.k_per_block, 16) * 16;

    // A wave of 64 lanes is two warps, one above the other in M.
    static constexpr int m_warps    = 2 * facts.m_waves * facts.k_waves;
    static constexpr int n_warps    = facts.n_waves;
    static constexpr int threads    = m_warps * n_warps * 32;
    static constexpr bool interwave = same_text(facts.scheduler, "Interwave");
    static constexpr int blocks =
        impl::resident_blocks(interwave && BlocksPerUnit < 2 ? 2 : BlocksPerUnit, m* n, threads);

    static constexpr bool a_k_major    = facts.a_row_major;
    static constexpr bool b_k_major    = !facts.b_row_major;
    static constexpr data_type in_tile = decoded_type(facts.a_type);
    static constexpr int memory_bytes  = host_model::size_of(facts.a_type);
    static constexpr int in_tile_bytes = host_model::size_of(in_tile);
    static constexpr int stage_bytes   = operand_layout<m, k, a_k_major, in_tile_bytes>::bytes +
                                         operand_layout<n, k, b_k_major, in_tile_bytes>::bytes;

    static constexpr pipeline_plan plan = find_pipeline_plan(Kernel::GemmPipeline::facts.name);
    static constexpr bool double_buffer = Kernel::GemmPipeline::DoubleSmemBuffer;
    static constexpr int hopper_stages  = plan.hopper_stages;
    static constexpr bool turns         = plan.turns || double_buffer;
    static constexpr int stages         = impl::fitting_stages(
        double_buffer && plan.stages < 4 ? 4 : plan.stages, stage_bytes, 0, blocks);

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
        same_text(plan.name, "MEMORY"),
        decltype(combination_of(
            std::make_index_sequence<static_cast<std::size_t>(facts.d_count)>{})),
        tile_shape<AB,
                   facts.e_type,
                   facts.rounding,
                   m,
                   n,
                   k,
                   m_warps,
                   n_warps,
                   vector(facts.vector_size_a, a_k_major),
                   vector(facts.vector_size_b, b_k_major),
                   usable_vector(facts.vector_size_c, host_model::size_of(facts.e_type)),
                   a_k_major,
                   b_k_major,
                   stages,
                   blocks>>;

    // Engine M's tile, and engine W's, which holds operands as they are in memory.
    using type   = config<in_tile>;
    using native = config<facts.a_type>;
};

} // namespace ck_tile::cuda_model
