// SPDX-License-Identifier: MIT
// What a plain GEMM kernel knows at compile time, as data (see kernel_facts.hpp).
#pragma once

#include <cstdint>

#include "ck_tile/core/numeric/bfloat16.hpp"
#include "ck_tile/host_model/data_type.hpp"
#include "ck_tile/host_model/gemm_store.hpp"
#include "ck_tile/ops/gemm/pipeline/gemm_pipeline_scheduler.hpp"

namespace ck_tile::host_model {

// How the loop over K ends, which at some levels is a choice of the launcher for all parts of K.
struct loop_end
{
    bool hot;
    TailNumber tail;

    constexpr bool operator==(const loop_end&) const = default;
};

// What becomes of the product and the D tensors.
enum class d_operation : std::uint8_t
{
    none,
    add,
    multiply
};

inline constexpr int most_d_tensors = 4;

struct plain_gemm_facts
{
    // Block tile, wave grid and MMA tile.
    int m_per_block, n_per_block, k_per_block;
    int m_waves, n_waves, k_waves;
    int m_mma, n_mma, k_mma;
    int block_size; // threads

    bool a_row_major, b_row_major, e_row_major;
    bool pad_m, pad_n, pad_k;

    data_type a_type, b_type, accumulator_type, e_type;
    bf16_rounding_mode rounding;

    int vector_size_a;
    int vector_size_b;
    int vector_size_c;

    int d_count;
    d_operation operation;
    data_type d_types[most_d_tensors];
    bool d_row_major[most_d_tensors];
    int vector_size_d[most_d_tensors];

    const char* pipeline_class; // as in a kernel name: AgBgCrCompV3
    const char* scheduler;
    const char* epilogue;
    int accumulators;        // 2: even and odd K blocks are summed apart
    int min_loops_per_split; // smallest number of K blocks per part of split-K; 0: no bound
    bool persistent;
    bool deals_steps; // which rule divides K, see k_split.hpp
    // Bit n: with n blocks along K, the pipeline multiplies others after the end of K.
    std::uint32_t overruns;
    // The pipeline goes along another axis than K after the first block of an operand.
    bool first_block_only;
    // It turns an operand twice in the last of two blocks, on devices that read it transposed.
    bool turns_last_of_two;
    gemm_store store;
    // Null where each part finds out for itself how its loop ends.
    loop_end (*fixed_tail)(std::int32_t num_loop);
};

} // namespace ck_tile::host_model
