// SPDX-License-Identifier: MIT
// The backward-weight convolution as an implicit GEMM: support test and arithmetic of one block.
//
// With Gm merged groups: rows are (gm,k), columns (z,y,x,gm',c), depth (n,do,ho,wo), in each tuple
// the last one fastest; only products with gm == gm' are stored.
#pragma once

#include <cstdint>

#include "ck_tile/core/config.hpp"
#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/gemm_sizes.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"
#include "ck_tile/host_model/product_unit.hpp"

namespace ck_tile::host_model {

struct backward_weight_call
{
    conv_shape shape;
    std::int64_t k_batch; // resolved: never negative
    gemm_sizes gemm;
    const void* in;
    void* wei;
    const void* out;
    product_unit unit = product_unit::fp32; // chosen at launch
};

// k_batch < 0 asks for the automatic value: as many K parts as fill the device once.
CK_TILE_HOST_MODEL_API backward_weight_call make_backward_weight_call(const kernel_facts& facts,
                                                                      const conv_shape& shape,
                                                                      std::int64_t k_batch);

// Workgroups that fit on a compute unit, by local memory and waves; at least 1.
CK_TILE_HOST_MODEL_API int estimated_occupancy(const kernel_facts& facts);

// The automatic k_batch: max(1, floor(occupancy * compute units / (tiles * GEMM batch))), at most
// GemmK. The occupancy is an estimate from local memory and waves; registers are not modelled.
CK_TILE_HOST_MODEL_API std::int64_t
automatic_k_batch(const kernel_facts& facts, const conv_shape& shape, const gemm_sizes& gemm);

CK_TILE_HOST_MODEL_API bool supports_backward_weight(const kernel_facts& facts,
                                                     const backward_weight_call& call);

// What multiplies the operands as they are now.
CK_TILE_HOST_MODEL_API product_unit choose_unit(const kernel_facts& facts,
                                                const backward_weight_call& call);

// One block: output tile (tile_m, tile_n) of groups starting at block.y * Gm, K part block.z.
CK_TILE_HOST_MODEL_API void run_backward_weight_block(const kernel_facts& facts,
                                                      const backward_weight_call& call,
                                                      std::int64_t tile_m,
                                                      std::int64_t tile_n,
                                                      const block_position& block);

} // namespace ck_tile::host_model
