// SPDX-License-Identifier: MIT
// The kernel of a plain matrix product.
#pragma once

#include "ck_tile/ops/gemm/kernel/universal_gemm_kernel.hpp"

namespace ck_tile {

struct GemmHostArgs
{
    GemmHostArgs() = default;
    GemmHostArgs(const void* a_ptr_,
                 const void* b_ptr_,
                 void* e_ptr_,
                 index_t k_batch_,
                 index_t M_,
                 index_t N_,
                 index_t K_,
                 index_t stride_A_,
                 index_t stride_B_,
                 index_t stride_E_)
        : a_ptr(a_ptr_),
          b_ptr(b_ptr_),
          e_ptr(e_ptr_),
          M(M_),
          N(N_),
          K(K_),
          stride_A(stride_A_),
          stride_B(stride_B_),
          stride_E(stride_E_),
          k_batch(k_batch_)
    {}

    const void* a_ptr = nullptr;
    const void* b_ptr = nullptr;
    union {
        void* e_ptr = nullptr;
        void* c_ptr;
    };
    index_t M        = 0;
    index_t N        = 0;
    index_t K        = 0;
    index_t stride_A = 0;
    index_t stride_B = 0;
    union {
        index_t stride_E = 0;
        index_t stride_C;
    };
    index_t k_batch = 1;
};

template <typename TilePartitioner, typename GemmPipeline, typename EpiloguePipeline>
struct GemmKernel : UniversalGemmKernel<TilePartitioner, GemmPipeline, EpiloguePipeline>
{
    using base       = UniversalGemmKernel<TilePartitioner, GemmPipeline, EpiloguePipeline>;
    using KernelArgs = typename base::KernelArgs;

    static_assert(base::NumDTensor == 0, "a plain product has no D tensors");

    static constexpr KernelArgs MakeKernelArgs(const GemmHostArgs& args)
    {
        return {{args.a_ptr},
                {args.b_ptr},
                {},
                args.e_ptr,
                args.M,
                args.N,
                args.K,
                {args.stride_A},
                {args.stride_B},
                {},
                args.stride_E,
                args.k_batch};
    }
};

} // namespace ck_tile
