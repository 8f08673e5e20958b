// SPDX-License-Identifier: MIT
// What the kernels of both directions have in common at this level.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/kernel_text.hpp"
#include "ck_tile/host_model/level_facts.hpp"
#include "ck_tile/host_model/rejection.hpp"
#include "ck_tile/host_model/runtime.hpp"
#include "ck_tile/ops/grouped_convolution/utils/grouped_convolution_utils.hpp"

namespace ck_tile::host_model {

// The arguments of a kernel: sizes as CK Tile names them, and the call in 64 bits.
template <typename Call>
struct gemm_kernel_args
{
    index_t k_batch   = 1;
    index_t GemmM     = 0;
    index_t GemmN     = 0;
    index_t GemmK     = 0;
    index_t GemmBatch = 0;
    Call call{};
};

template <direction Direction,
          typename ConvTraits,
          typename TilePartitioner_,
          typename GemmPipeline_,
          typename EpiloguePipeline_>
struct gemm_kernel
{
    using TilePartitioner  = TilePartitioner_;
    using GemmPipeline     = GemmPipeline_;
    using EpiloguePipeline = EpiloguePipeline_;

    static constexpr index_t NDimSpatial     = ConvTraits::NDimSpatial;
    static constexpr index_t KernelBlockSize = GemmPipeline::BlockSize;

    static constexpr kernel_facts facts =
        make_level_facts<Direction, ConvTraits, TilePartitioner, GemmPipeline, EpiloguePipeline>();

    template <typename Call, typename HostArgs>
    static gemm_kernel_args<Call> make_args(Call call, const HostArgs& args)
    {
        call.in  = args.in_ptr;
        call.wei = args.wei_ptr;
        call.out = args.out_ptr;
        gemm_kernel_args<Call> kargs;
        kargs.k_batch   = args.k_batch;
        kargs.GemmM     = static_cast<index_t>(call.gemm.m);
        kargs.GemmN     = static_cast<index_t>(call.gemm.n);
        kargs.GemmK     = static_cast<index_t>(call.gemm.k);
        kargs.GemmBatch = static_cast<index_t>(call.gemm.batch);
        kargs.call      = call;
        return kargs;
    }

    static void check_dimensions(const conv::ConvParam& param)
    {
        if(param.num_dim_spatial_ != NDimSpatial)
        {
            throw std::runtime_error("this kernel is for problems of another dimension");
        }
    }

    template <typename Args>
    static dim3 GridSize(const Args& kargs)
    {
        return dim3(static_cast<std::uint32_t>(TilePartitioner::GridSize(kargs.GemmM, kargs.GemmN)),
                    static_cast<std::uint32_t>(kargs.GemmBatch),
                    static_cast<std::uint32_t>(kargs.k_batch));
    }

    static constexpr dim3 BlockSize() { return dim3(KernelBlockSize); }
    static constexpr index_t GetSmemSize() { return GemmPipeline::GetSmemSize(); }

    static std::string GetName() { return kernel_name(facts); }
    static std::string GetInstanceString() { return instance_string(facts); }

    template <typename Args>
    static auto tile_of(const Args& kargs, const block_position& block)
    {
        return TilePartitioner(kargs.GemmM, kargs.GemmN)
            .GetOutputTileIndex(static_cast<index_t>(block.x));
    }
};

} // namespace ck_tile::host_model
