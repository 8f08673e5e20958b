// SPDX-License-Identifier: MIT
// The backward-data convolution as a set of implicit GEMMs: support test and arithmetic of one
// block.
//
// Per axis let g = gcd(stride, dilation) and T = stride / g. Filter taps with the same remainder
// modulo T reach the same input positions, so each tuple of remainders (iz,iy,ix) is a GEMM of its
// own: rows are (n, t_d, t_h, t_w), depth (zd,yd,xd,k), columns c. A row stands for input position
// i * dilation + t * stride - left pad; tap yd reads output position t - yd * dilation / g with the
// filter index yd * T + i. No input element belongs to two GEMMs.
#pragma once

#include <cstdint>
#include <vector>

#include "ck_tile/core/config.hpp"
#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/gemm_sizes.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"
#include "ck_tile/host_model/product_unit.hpp"

namespace ck_tile::host_model {

struct backward_data_gemm
{
    std::int64_t remainder[3]; // iz,iy,ix
    std::int64_t taps[3];      // per axis, of this remainder
    std::int64_t k;
    std::int64_t first_block; // along grid x
};

struct backward_data_call
{
    conv_shape shape;
    std::int64_t k_batch;
    std::int64_t images_per_split;
    std::int64_t image_splits;
    gemm_sizes gemm;         // of every sub-GEMM; k is the largest
    std::int64_t t_begin[3]; // range of t per axis
    std::int64_t t_end[3];
    std::int64_t tilde[3];        // T
    std::int64_t output_steps[3]; // dilation / g
    std::int64_t blocks;          // of all GEMMs, along grid x
    std::int64_t gemm_count;
    std::vector<backward_data_gemm> gemms; // empty if there are more than a kernel can take
    void* in;
    const void* wei;
    const void* out;
    product_unit unit    = product_unit::fp32; // chosen at launch
    std::uint64_t launch = 0;                  // its number; 0 if it has none
};

inline constexpr std::int64_t most_backward_data_gemms = 128;

CK_TILE_HOST_MODEL_API backward_data_call make_backward_data_call(const kernel_facts& facts,
                                                                  const conv_shape& shape,
                                                                  std::int64_t k_batch);

CK_TILE_HOST_MODEL_API bool supports_backward_data(const kernel_facts& facts,
                                                   const backward_data_call& call);

// What multiplies the operands as they are now.
CK_TILE_HOST_MODEL_API product_unit choose_unit(const kernel_facts& facts,
                                                const backward_data_call& call);

// The GEMM that block x of the grid belongs to.
CK_TILE_HOST_MODEL_API const backward_data_gemm& find_gemm(const backward_data_call& call,
                                                           std::int64_t block_x);

// One block of one GEMM for group block.y; block.z counts image splits times k_batch, K parts
// fastest.
CK_TILE_HOST_MODEL_API void run_backward_data_block(const kernel_facts& facts,
                                                    const backward_data_call& call,
                                                    const backward_data_gemm& gemm,
                                                    std::int64_t tile_m,
                                                    std::int64_t tile_n,
                                                    const block_position& block);

} // namespace ck_tile::host_model
