// SPDX-License-Identifier: MIT
// The run-time side of a product of two matrices, made from a call of the host model. Usable
// without a GPU.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "ck_tile/host_model/plain_gemm.hpp"

namespace ck_tile::cuda_model {

// E = A B, `batch` times. Strides count elements between lines, and between products.
struct matrix_params
{
    const void* a;
    const void* b;
    void* e;
    int m, n, k;
    int k_batch, batch;
    std::int64_t stride_a, stride_b, stride_e;
    std::int64_t batch_stride_a, batch_stride_b, batch_stride_e;
    const void* d[host_model::most_d_tensors];
    std::int64_t stride_d[host_model::most_d_tensors];
    bool wide; // 16 bytes of E can be stored at once, and as many elements of D read
    int tiles; // of one product; engine M
};

inline matrix_params make_matrix_params(const host_model::plain_gemm_call& call, int e_bytes)
{
    matrix_params p{};
    p.a              = call.a;
    p.b              = call.b;
    p.e              = call.e;
    p.m              = static_cast<int>(call.m);
    p.n              = static_cast<int>(call.n);
    p.k              = static_cast<int>(call.k);
    p.k_batch        = static_cast<int>(call.k_batch);
    p.batch          = static_cast<int>(call.batch);
    p.stride_a       = call.stride_a;
    p.stride_b       = call.stride_b;
    p.stride_e       = call.stride_e;
    p.batch_stride_a = call.batch_stride_a;
    p.batch_stride_b = call.batch_stride_b;
    p.batch_stride_e = call.batch_stride_e;
    const int vector = 16 / e_bytes;
    p.wide           = call.n % vector == 0 && call.stride_e % vector == 0 &&
                       (call.batch == 1 || call.batch_stride_e % vector == 0) &&
                       reinterpret_cast<std::uintptr_t>(call.e) % 16 == 0;
    for(int d = 0; d < host_model::most_d_tensors; ++d)
    {
        p.d[d]        = call.d[d];
        p.stride_d[d] = call.stride_d[d];
        // Those that are missing have a stride of 0.
        p.wide = p.wide && call.stride_d[d] % vector == 0 &&
                 reinterpret_cast<std::uintptr_t>(call.d[d]) % 16 == 0;
    }
    return p;
}

// Blocks of a grid with a block for each tile, product and part of K, one after the other.
inline unsigned linear_blocks(const matrix_params& p)
{
    const double blocks = static_cast<double>(p.tiles) * p.batch * p.k_batch;
    if(blocks > 2147483647.0)
    {
        throw std::runtime_error("the grid has more blocks than a CUDA device can be given");
    }
    return static_cast<unsigned>(blocks);
}

} // namespace ck_tile::cuda_model
