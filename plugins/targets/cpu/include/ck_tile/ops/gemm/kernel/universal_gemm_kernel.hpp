// SPDX-License-Identifier: MIT
// The kernel of a matrix product, with any number of D tensors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "ck_tile/core/numeric/integer.hpp"
#include "ck_tile/core/utility/hip_types.hpp"
#include "ck_tile/host/stream_config.hpp"
#include "ck_tile/host_model/device.hpp"
#include "ck_tile/host_model/make_plain_gemm_facts.hpp"
#include "ck_tile/host_model/plain_gemm.hpp"
#include "ck_tile/host_model/rejection.hpp"
#include "ck_tile/host_model/runtime.hpp"

namespace ck_tile {

// Pointers, sizes and strides as a caller gives them. More than one A or B is not modelled.
template <index_t NumATensor = 1, index_t NumBTensor = 1, index_t NumDTensor = 0>
struct UniversalGemmHostArgs
{
    UniversalGemmHostArgs(const std::array<const void*, NumATensor>& as_ptr_,
                          const std::array<const void*, NumBTensor>& bs_ptr_,
                          const std::array<const void*, NumDTensor>& ds_ptr_,
                          void* e_ptr_,
                          index_t k_batch_,
                          index_t M_,
                          index_t N_,
                          index_t K_,
                          const std::array<index_t, NumATensor>& stride_As_,
                          const std::array<index_t, NumBTensor>& stride_Bs_,
                          const std::array<index_t, NumDTensor>& stride_Ds_,
                          index_t stride_E_)
        : as_ptr(as_ptr_),
          bs_ptr(bs_ptr_),
          ds_ptr(ds_ptr_),
          e_ptr(e_ptr_),
          M(M_),
          N(N_),
          K(K_),
          stride_As(stride_As_),
          stride_Bs(stride_Bs_),
          stride_Ds(stride_Ds_),
          stride_E(stride_E_),
          k_batch(k_batch_)
    {}

    std::array<const void*, NumATensor> as_ptr;
    std::array<const void*, NumBTensor> bs_ptr;
    std::array<const void*, NumDTensor> ds_ptr;
    union {
        void* e_ptr;
        void* c_ptr;
    };
    index_t M;
    index_t N;
    index_t K;
    std::array<index_t, NumATensor> stride_As;
    std::array<index_t, NumBTensor> stride_Bs;
    std::array<index_t, NumDTensor> stride_Ds;
    union {
        index_t stride_E;
        index_t stride_C;
    };
    index_t k_batch;
};

// The same for the kernel.
template <index_t NumATensor = 1, index_t NumBTensor = 1, index_t NumDTensor = 0>
struct UniversalGemmKernelArgs
{
    std::array<const void*, NumATensor> as_ptr;
    std::array<const void*, NumBTensor> bs_ptr;
    std::array<const void*, NumDTensor> ds_ptr;
    void* e_ptr;
    index_t M;
    index_t N;
    index_t K;
    std::array<index_t, NumATensor> stride_As;
    std::array<index_t, NumBTensor> stride_Bs;
    std::array<index_t, NumDTensor> stride_Ds;
    index_t stride_E;
    index_t k_batch;
    host_model::product_unit unit = host_model::product_unit::fp32; // chosen at launch
};

// E = A * B, or that combined with the D tensors. Grid: x output tiles, z parts of K, which add to
// the result: the caller zeroes it first.
template <typename TilePartitioner_, typename GemmPipeline_, typename EpiloguePipeline_>
struct UniversalGemmKernel
{
    using TilePartitioner  = TilePartitioner_;
    using GemmPipeline     = GemmPipeline_;
    using EpiloguePipeline = EpiloguePipeline_;

    using ALayout    = typename GemmPipeline::ALayout;
    using BLayout    = typename GemmPipeline::BLayout;
    using DsLayout   = typename EpiloguePipeline::DsLayout;
    using ELayout    = typename GemmPipeline::CLayout;
    using ADataType  = typename GemmPipeline::ADataType;
    using BDataType  = typename GemmPipeline::BDataType;
    using DsDataType = typename EpiloguePipeline::DsDataType;
    using EDataType  = typename EpiloguePipeline::ODataType;

    static constexpr index_t NumATensor = 1;
    static constexpr index_t NumBTensor = 1;
    static constexpr index_t NumDTensor = DsDataType::size();

    using KernelArgs = UniversalGemmKernelArgs<NumATensor, NumBTensor, NumDTensor>;

    static constexpr host_model::plain_gemm_facts facts =
        host_model::make_plain_gemm_facts<TilePartitioner, GemmPipeline, EpiloguePipeline>();

    static constexpr index_t KernelBlockSize = GemmPipeline::BlockSize;
    static constexpr bool PersistentKernel   = facts.persistent;

    static std::string GetName() { return host_model::kernel_name(facts); }

    static constexpr dim3 GridSize(index_t M, index_t N, index_t KBatch)
    {
        return dim3(static_cast<std::uint32_t>(TilePartitioner::GridSize(M, N)),
                    1,
                    static_cast<std::uint32_t>(KBatch));
    }

    // One block per CPU thread: each does what is left for it.
    static dim3 MaxOccupancyGridSize(const stream_config&)
    { return dim3(static_cast<std::uint32_t>(host_model::worker_count())); }

    static constexpr dim3 BlockSize() { return dim3(KernelBlockSize); }
    static constexpr index_t GetSmemSize() { return GemmPipeline::GetSmemSize(); }

    static constexpr KernelArgs
    MakeKernelArgs(const UniversalGemmHostArgs<NumATensor, NumBTensor, NumDTensor>& args)
    {
        return {args.as_ptr,
                args.bs_ptr,
                args.ds_ptr,
                args.e_ptr,
                args.M,
                args.N,
                args.K,
                args.stride_As,
                args.stride_Bs,
                args.stride_Ds,
                args.stride_E,
                args.k_batch};
    }

    static bool IsSupportedArgument(const KernelArgs& kargs)
    { return host_model::supports_plain_gemm(facts, make_call(kargs)); }

    // What multiplies in this launch.
    static void choose_unit(KernelArgs& kargs)
    { kargs.unit = host_model::choose_unit(facts, make_call(kargs)); }

    void operator()(const host_model::block_position& block, const KernelArgs& kargs) const
    {
        const host_model::plain_gemm_call call = make_call(kargs);
        const TilePartitioner partitioner(kargs.M, kargs.N);
        if constexpr(PersistentKernel)
        {
            // A block takes whole tiles, so that the parts of one are added in order. On a GPU it
            // takes single parts.
            const auto tiles =
                static_cast<std::uint32_t>(TilePartitioner::GridSize(kargs.M, kargs.N));
            for(std::uint32_t tile = block.x; tile < tiles; tile += block.grid.x)
            {
                const auto [m, n] = partitioner.GetOutputTileIndex(static_cast<index_t>(tile));
                host_model::run_plain_gemm_tile(facts, call, m, n);
            }
        }
        else
        {
            const auto [m, n] = partitioner.GetOutputTileIndex(static_cast<index_t>(block.x));
            host_model::run_plain_gemm_block(facts, call, m, n, block);
        }
    }

    static constexpr host_model::plain_gemm_call make_call(const KernelArgs& kargs)
    {
        host_model::plain_gemm_call call{};
        call.m        = kargs.M;
        call.n        = kargs.N;
        call.k        = kargs.K;
        call.k_batch  = kargs.k_batch;
        call.a        = kargs.as_ptr[0];
        call.b        = kargs.bs_ptr[0];
        call.e        = kargs.e_ptr;
        call.stride_a = kargs.stride_As[0];
        call.stride_b = kargs.stride_Bs[0];
        call.stride_e = kargs.stride_E;
        call.batch    = 1;
        call.unit     = kargs.unit;
        for(std::size_t d = 0; d != std::size_t{NumDTensor}; ++d)
        {
            call.d[d]        = kargs.ds_ptr[d];
            call.stride_d[d] = kargs.stride_Ds[d];
        }
        return call;
    }
};

} // namespace ck_tile
