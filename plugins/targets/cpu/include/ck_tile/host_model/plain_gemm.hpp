// SPDX-License-Identifier: MIT
// The product of two matrices, E = A * B: support test and arithmetic of one block.
#pragma once

#include <cstdint>
#include <string>

#include "ck_tile/core/config.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/plain_gemm_facts.hpp"
#include "ck_tile/host_model/product_unit.hpp"

namespace ck_tile::host_model {

// A is M x K, B K x N, E M x N. A stride is the distance in elements between rows of a row-major
// matrix, or between columns of a column-major one.
struct plain_gemm_call
{
    std::int64_t m, n, k;
    std::int64_t k_batch;
    const void* a;
    const void* b;
    void* e;
    std::int64_t stride_a, stride_b, stride_e;
    const void* d[most_d_tensors];
    std::int64_t stride_d[most_d_tensors];
    // Products of the same size, each so many elements after the one before.
    std::int64_t batch;
    std::int64_t batch_stride_a, batch_stride_b, batch_stride_e;
    product_unit unit = product_unit::fp32; // chosen at launch
};

// CK Tile's conditions in its order, after a test that the problem is meaningful and within the
// 32-bit indices of a kernel, and before those that CK Tile leaves to its callers: strides that
// keep vectors aligned, and parts of K that a fixed loop end fits. On false last_rejection() tells
// the first condition that failed.
CK_TILE_HOST_MODEL_API bool supports_plain_gemm(const plain_gemm_facts& facts,
                                                const plain_gemm_call& call);

// What multiplies the operands as they are now.
CK_TILE_HOST_MODEL_API product_unit choose_unit(const plain_gemm_facts& facts,
                                                const plain_gemm_call& call);

// One block: tile (tile_m, tile_n) of product block.y, part block.z of K.
CK_TILE_HOST_MODEL_API void run_plain_gemm_block(const plain_gemm_facts& facts,
                                                 const plain_gemm_call& call,
                                                 std::int64_t tile_m,
                                                 std::int64_t tile_n,
                                                 const block_position& block);

// A tile with all parts of K, one after the other: the work of a persistent block.
CK_TILE_HOST_MODEL_API void run_plain_gemm_tile(const plain_gemm_facts& facts,
                                                const plain_gemm_call& call,
                                                std::int64_t tile_m,
                                                std::int64_t tile_n);

// Tokens joined by "_", as GetName() of a kernel gives.
CK_TILE_HOST_MODEL_API std::string kernel_name(const plain_gemm_facts& facts);

} // namespace ck_tile::host_model
