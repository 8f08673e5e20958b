// SPDX-License-Identifier: MIT
// What a kernel type knows at compile time, as plain data.
//
// Kernel templates only fill this structure; support tests, names and arithmetic are ordinary
// functions of it. A further kernel type therefore costs the compiler next to nothing.
#pragma once

#include <cstdint>

#include "ck_tile/core/numeric/bfloat16.hpp"
#include "ck_tile/host_model/data_type.hpp"
#include "ck_tile/host_model/elementwise.hpp"
#include "ck_tile/ops/grouped_convolution/utils/convolution_specialization.hpp"

namespace ck_tile::host_model {

enum class direction : std::uint8_t
{
    forward,
    backward_data,
    backward_weight
};

struct kernel_facts
{
    host_model::direction direction;
    int num_dim_spatial;
    ConvolutionSpecialization specialization;

    const char* in_layout;
    const char* wei_layout;
    const char* out_layout;
    // The layout is one of the channels-last layouts of that tensor and of num_dim_spatial.
    bool in_layout_known;
    bool wei_layout_known;
    bool out_layout_known;

    int vector_size_a;
    int vector_size_b;
    int vector_size_c;
    int groups_to_merge;
    bool split_image;
    bool explicit_gemm;

    // Block tile, wave grid and MMA tile.
    int m_per_block, n_per_block, k_per_block;
    int m_waves, n_waves, k_waves;
    int m_mma, n_mma, k_mma;
    int block_size; // threads

    // Element types of the GEMM operands A and B and of the result E.
    data_type a_type, b_type, e_type;
    bool integer_sums; // operands of int8, added up in int32
    bool tf32;         // operands, of fp32, are rounded to TF32 before they are multiplied
    bf16_rounding_mode rounding;

    const char* pipeline_name;  // as in an instance string: COMPUTE_V3
    const char* pipeline_class; // as in a kernel name: AgBgCrCompV3
    const char* scheduler;
    bool double_smem_buffer;
    int num_wave_groups;
    const char* needs; // capability that the device must have, or empty
    const char* epilogue;
    int accumulators;        // 2: even and odd K blocks are summed apart
    int min_loops_per_split; // smallest number of K blocks per split-K part; 0: no bound
    bool splits_reduction;   // takes a k_batch above 1
    bool bounds_splits;      // more splits than MMA steps or additions in 16 bits are rejected

    const char* cde_operation;
    elementwise_facts elementwise; // forward only

    // Backward weight only.
    bool stream_k;
    int stream_k_reduction;
    bool stream_k_persistent;
};

} // namespace ck_tile::host_model
