// SPDX-License-Identifier: MIT
// The kernel of many matrix products of one size.
#pragma once

#include "ck_tile/ops/gemm/kernel/universal_gemm_kernel.hpp"

namespace ck_tile {

struct BatchedGemmHostArgs : UniversalGemmHostArgs<>
{
    explicit BatchedGemmHostArgs(const void* a_ptr_,
                                 const void* b_ptr_,
                                 void* c_ptr_,
                                 index_t k_batch_,
                                 index_t M_,
                                 index_t N_,
                                 index_t K_,
                                 index_t stride_A_,
                                 index_t stride_B_,
                                 index_t stride_C_,
                                 index_t batch_stride_A_,
                                 index_t batch_stride_B_,
                                 index_t batch_stride_C_,
                                 index_t batch_count_)
        : UniversalGemmHostArgs<>({a_ptr_},
                                  {b_ptr_},
                                  {},
                                  c_ptr_,
                                  k_batch_,
                                  M_,
                                  N_,
                                  K_,
                                  {stride_A_},
                                  {stride_B_},
                                  {},
                                  stride_C_),
          batch_stride_A(batch_stride_A_),
          batch_stride_B(batch_stride_B_),
          batch_stride_E(batch_stride_C_),
          batch_count(batch_count_)
    {}

    index_t batch_stride_A;
    index_t batch_stride_B;
    index_t batch_stride_E;
    index_t batch_count;
};

// Grid: x output tiles, y products, z parts of K.
template <typename TilePartitioner, typename GemmPipeline, typename EpiloguePipeline>
struct BatchedGemmKernel : UniversalGemmKernel<TilePartitioner, GemmPipeline, EpiloguePipeline>
{
    using base = UniversalGemmKernel<TilePartitioner, GemmPipeline, EpiloguePipeline>;

    static_assert(base::NumDTensor == 0 && !base::PersistentKernel,
                  "batched products have no D tensors and are not persistent");

    struct BatchedGemmKernelArgs : UniversalGemmKernelArgs<>
    {
        index_t batch_stride_A;
        index_t batch_stride_B;
        index_t batch_stride_E;
        index_t batch_count;
    };

    using KernelArgs = BatchedGemmKernelArgs;

    static constexpr dim3 GridSize(index_t M, index_t N, index_t KBatch, index_t batch_count)
    {
        dim3 grid = base::GridSize(M, N, KBatch);
        grid.y    = static_cast<std::uint32_t>(batch_count);
        return grid;
    }

    static constexpr KernelArgs MakeKernelArgs(const BatchedGemmHostArgs& args)
    {
        return {base::MakeKernelArgs(args),
                args.batch_stride_A,
                args.batch_stride_B,
                args.batch_stride_E,
                args.batch_count};
    }

    static bool IsSupportedArgument(const KernelArgs& kargs)
    { return host_model::supports_plain_gemm(base::facts, make_call(kargs)); }

    // What multiplies in this launch.
    static void choose_unit(KernelArgs& kargs)
    { kargs.unit = host_model::choose_unit(base::facts, make_call(kargs)); }

    void operator()(const host_model::block_position& block, const KernelArgs& kargs) const
    {
        const auto [m, n] =
            TilePartitioner(kargs.M, kargs.N).GetOutputTileIndex(static_cast<index_t>(block.x));
        host_model::run_plain_gemm_block(base::facts, make_call(kargs), m, n, block);
    }

    static constexpr host_model::plain_gemm_call make_call(const KernelArgs& kargs)
    {
        host_model::plain_gemm_call call = base::make_call(kargs);
        call.batch                       = kargs.batch_count;
        call.batch_stride_a              = kargs.batch_stride_A;
        call.batch_stride_b              = kargs.batch_stride_B;
        call.batch_stride_e              = kargs.batch_stride_E;
        return call;
    }
};

} // namespace ck_tile
