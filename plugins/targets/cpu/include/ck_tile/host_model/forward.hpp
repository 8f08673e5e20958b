// SPDX-License-Identifier: MIT
// The forward convolution as an implicit GEMM: support test and arithmetic of one block.
#pragma once

#include <cstdint>

#include "ck_tile/core/config.hpp"
#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/gemm_sizes.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"
#include "ck_tile/host_model/product_unit.hpp"

namespace ck_tile::host_model {

// With Gm merged groups: rows are (n,do,ho,wo,gm), columns (k,gm'), depth (z,y,x,c), in each tuple
// the last one fastest.
struct forward_call
{
    conv_shape shape;
    std::int64_t k_batch;
    std::int64_t images_per_split;
    std::int64_t image_splits;
    gemm_sizes gemm;
    const void* in;
    const void* wei;
    void* out;
    elementwise_call elementwise;
    product_unit unit    = product_unit::fp32; // chosen at launch
    std::uint64_t launch = 0;                  // its number; 0 if it has none
};

// Fills everything but the pointers. Never fails: nonsense is found by supports_forward().
CK_TILE_HOST_MODEL_API forward_call make_forward_call(const kernel_facts& facts,
                                                      const conv_shape& shape,
                                                      std::int64_t k_batch);

// All conditions in CK Tile's order, after a test that the problem is meaningful and within the
// 32-bit indices of a kernel. On false last_rejection() tells the first condition that failed.
CK_TILE_HOST_MODEL_API bool supports_forward(const kernel_facts& facts, const forward_call& call);

// What multiplies the operands as they are now.
CK_TILE_HOST_MODEL_API product_unit choose_unit(const kernel_facts& facts,
                                                const forward_call& call);

// One block: output tile (tile_m, tile_n) of groups starting at batch * Gm, image split `split`.
CK_TILE_HOST_MODEL_API void run_forward_block(const kernel_facts& facts,
                                              const forward_call& call,
                                              std::int64_t tile_m,
                                              std::int64_t tile_n,
                                              std::int64_t batch,
                                              std::int64_t split);

} // namespace ck_tile::host_model
