// SPDX-License-Identifier: MIT
// The forward convolution kernel.
#pragma once

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "ck_tile/host_model/forward.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/kernel_text.hpp"
#include "ck_tile/host_model/make_kernel_facts.hpp"
#include "ck_tile/host_model/rejection.hpp"
#include "ck_tile/host_model/runtime.hpp"
#include "ck_tile/ops/grouped_convolution/kernel/grouped_convolution_kernel_args.hpp"
#include "ck_tile/ops/grouped_convolution/utils/grouped_convolution_utils.hpp"

namespace ck_tile {

// out[n,do,ho,wo,g,k] = sum over (z,y,x,c) of in[n, position, g, c] * wei[g,k,z,y,x,c] with
// position = tap * dilation + output position * stride - left pad per axis; input outside the image
// counts as 0. Grid: x output tiles, y GEMM batches (merged groups), z image splits.
template <index_t NDimSpatial>
struct GroupedConvFwdKernelArgs : GroupedConvLengths<NDimSpatial>
{
    explicit GroupedConvFwdKernelArgs(const conv::ConvParam& param)
        : GroupedConvLengths<NDimSpatial>(param)
    {}

    index_t k_batch     = 1;
    index_t GemmM       = 0;
    index_t GemmN       = 0;
    index_t GemmK       = 0;
    index_t GemmBatch   = 0;
    index_t n_per_split = 0;
    index_t n_splits    = 0;

    // Which D tensors have one element per channel in the place of one per element of the output;
    // a flag for each.
    template <std::size_t Count>
    void set_d_per_channel(const std::array<bool, Count>& flags)
    { std::copy(flags.begin(), flags.end(), call.elementwise.d_per_channel); }

    const void* in_ptr  = nullptr;
    const void* wei_ptr = nullptr;
    void* out_ptr       = nullptr;

    // The same in 64 bits, for arithmetic that cannot overflow.
    host_model::forward_call call{};
};

template <typename GroupedConvTraitsType_,
          typename TilePartitioner_,
          typename GemmPipeline_,
          typename EpiloguePipeline_>
struct GroupedConvolutionForwardKernel
{
    using GroupedConvTraitsType = GroupedConvTraitsType_;
    using TilePartitioner       = TilePartitioner_;
    using GemmPipeline          = GemmPipeline_;
    using EpiloguePipeline      = EpiloguePipeline_;

    using InDataType  = typename GemmPipeline::ADataType;
    using WeiDataType = typename GemmPipeline::BDataType;
    using OutDataType = typename EpiloguePipeline::ODataType;
    using InLayout    = typename GroupedConvTraitsType::InLayout;
    using WeiLayout   = typename GroupedConvTraitsType::WeiLayout;
    using OutLayout   = typename GroupedConvTraitsType::OutLayout;

    static constexpr index_t NDimSpatial = GroupedConvTraitsType::NDimSpatial;
    static constexpr index_t kBlockSize  = GemmPipeline::BlockSize;

    using KernelArgs = GroupedConvFwdKernelArgs<NDimSpatial>;

    static constexpr host_model::kernel_facts facts =
        host_model::make_kernel_facts<host_model::direction::forward,
                                      GroupedConvTraitsType,
                                      TilePartitioner,
                                      GemmPipeline,
                                      EpiloguePipeline>();

    template <typename CDElementwise>
    static KernelArgs MakeKernelArgs(const GroupedConvFwdHostArgs<CDElementwise>& args)
    {
        if(args.num_dim_spatial_ != NDimSpatial)
        {
            throw std::runtime_error("this kernel is for problems of another dimension");
        }
        KernelArgs kargs(args);
        host_model::forward_call& call = kargs.call;

        call =
            host_model::make_forward_call(facts, host_model::make_conv_shape(args), args.k_batch);
        call.in  = args.in_ptr;
        call.wei = args.wei_ptr;
        call.out = args.out_ptr;
        for(int d = 0; d < facts.elementwise.d_count; ++d)
        {
            call.elementwise.d[d] = args.ds_ptr[static_cast<std::size_t>(d)];
        }
        call.elementwise.set_functor(args.elfunc);

        kargs.k_batch     = args.k_batch;
        kargs.GemmM       = static_cast<index_t>(call.gemm.m);
        kargs.GemmN       = static_cast<index_t>(call.gemm.n);
        kargs.GemmK       = static_cast<index_t>(call.gemm.k);
        kargs.GemmBatch   = static_cast<index_t>(call.gemm.batch);
        kargs.n_per_split = static_cast<index_t>(call.images_per_split);
        kargs.n_splits    = static_cast<index_t>(call.image_splits);
        kargs.in_ptr      = args.in_ptr;
        kargs.wei_ptr     = args.wei_ptr;
        kargs.out_ptr     = args.out_ptr;
        return kargs;
    }

    static bool IsSupportedArgument(const KernelArgs& kargs)
    { return host_model::supports_forward(facts, kargs.call); }

    // Meaningful for supported arguments only.
    static dim3 GridSize(const KernelArgs& kargs)
    {
        return dim3(static_cast<std::uint32_t>(TilePartitioner::GridSize(kargs.GemmM, kargs.GemmN)),
                    static_cast<std::uint32_t>(kargs.GemmBatch),
                    static_cast<std::uint32_t>(kargs.n_splits));
    }

    static dim3 BlockSize() { return dim3(kBlockSize); }

    static constexpr index_t GetSmemSize() { return GemmPipeline::GetSmemSize(); }

    static std::string GetName()
    { return host_model::conv_level::name_of_kernel<GroupedConvolutionForwardKernel>(); }
    static std::string GetTypeString() { return GetName(); }
    static std::string GetInstanceString() { return host_model::instance_string(facts); }

    // What multiplies in this launch, and its number.
    static void choose_unit(KernelArgs& kargs)
    {
        kargs.call.unit   = host_model::choose_unit(facts, kargs.call);
        kargs.call.launch = host_model::next_launch();
    }

    void operator()(const host_model::block_position& block, const KernelArgs& kargs) const
    {
        const auto [tile_m, tile_n] = TilePartitioner(kargs.GemmM, kargs.GemmN)
                                          .GetOutputTileIndex(static_cast<index_t>(block.x));
        host_model::run_forward_block(facts, kargs.call, tile_m, tile_n, block.y, block.z);
    }
};

} // namespace ck_tile
