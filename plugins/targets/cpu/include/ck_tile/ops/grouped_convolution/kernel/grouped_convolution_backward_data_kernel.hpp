// SPDX-License-Identifier: MIT
// The backward-data convolution kernel.
#pragma once

#include <stdexcept>
#include <string>

#include "ck_tile/host_model/backward_data.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/kernel_text.hpp"
#include "ck_tile/host_model/make_kernel_facts.hpp"
#include "ck_tile/host_model/rejection.hpp"
#include "ck_tile/host_model/runtime.hpp"
#include "ck_tile/ops/grouped_convolution/kernel/grouped_convolution_kernel_args.hpp"
#include "ck_tile/ops/grouped_convolution/utils/grouped_convolution_utils.hpp"

namespace ck_tile {

// Grid: x blocks of all sub-GEMMs, one after the other, y groups, z image splits times k_batch.
template <index_t NDimSpatial>
struct GroupedConvBwdDataKernelArgs : GroupedConvLengths<NDimSpatial>
{
    explicit GroupedConvBwdDataKernelArgs(const conv::ConvParam& param)
        : GroupedConvLengths<NDimSpatial>(param)
    {}

    index_t k_batch   = 1;
    index_t GemmBatch = 0;
    index_t n_splits  = 0;

    void* in_ptr        = nullptr;
    const void* wei_ptr = nullptr;
    const void* out_ptr = nullptr;

    // Sizes in 64 bits and the list of sub-GEMMs.
    host_model::backward_data_call call{};
};

// in[n,position,g,c] = sum of out[n,do,ho,wo,g,k] * wei[g,k,z,y,x,c] over all that meet the
// position. Input elements that no filter tap can reach are not written: the caller zeroes the
// result first. Merging of groups and split images have no effect in this direction.
template <typename GroupedConvTraitsType_,
          typename TilePartitioner_,
          typename GemmPipeline_,
          typename EpiloguePipeline_>
struct GroupedConvolutionBackwardDataKernel
{
    using GroupedConvTraitsType = GroupedConvTraitsType_;
    using TilePartitioner       = TilePartitioner_;
    using GemmPipeline          = GemmPipeline_;
    using EpiloguePipeline      = EpiloguePipeline_;

    using OutDataType = typename GemmPipeline::ADataType;
    using WeiDataType = typename GemmPipeline::BDataType;
    using InDataType  = typename EpiloguePipeline::ODataType;

    static_assert(!GroupedConvTraitsType::ExplicitGemm, "backward data has no explicit GEMM");

    static constexpr index_t NDimSpatial = GroupedConvTraitsType::NDimSpatial;
    static constexpr index_t kBlockSize  = GemmPipeline::BlockSize;

    using KernelArgs = GroupedConvBwdDataKernelArgs<NDimSpatial>;

    static constexpr host_model::kernel_facts facts =
        host_model::make_kernel_facts<host_model::direction::backward_data,
                                      GroupedConvTraitsType,
                                      TilePartitioner,
                                      GemmPipeline,
                                      EpiloguePipeline>();

    static KernelArgs MakeKernelArgs(const GroupedConvBwdDataHostArgs& args)
    {
        static_assert(facts.elementwise.combine == nullptr,
                      "only forward is modelled with an element-wise operation in the kernel");
        if(args.num_dim_spatial_ != NDimSpatial)
        {
            throw std::runtime_error("this kernel is for problems of another dimension");
        }
        KernelArgs kargs(args);
        host_model::backward_data_call& call = kargs.call;

        call = host_model::make_backward_data_call(
            facts, host_model::make_conv_shape(args), args.k_batch);
        call.in  = args.in_ptr;
        call.wei = args.wei_ptr;
        call.out = args.out_ptr;

        kargs.k_batch   = args.k_batch;
        kargs.GemmBatch = static_cast<index_t>(call.gemm.batch);
        kargs.n_splits  = static_cast<index_t>(call.image_splits);
        kargs.in_ptr    = args.in_ptr;
        kargs.wei_ptr   = args.wei_ptr;
        kargs.out_ptr   = args.out_ptr;
        return kargs;
    }

    static bool IsSupportedArgument(const KernelArgs& kargs)
    { return host_model::supports_backward_data(facts, kargs.call); }

    static dim3 GridSize(const KernelArgs& kargs)
    {
        return dim3(static_cast<std::uint32_t>(kargs.call.blocks),
                    static_cast<std::uint32_t>(kargs.GemmBatch),
                    static_cast<std::uint32_t>(kargs.n_splits * kargs.k_batch));
    }

    static dim3 BlockSize() { return dim3(kBlockSize); }

    static constexpr index_t GetSmemSize() { return GemmPipeline::GetSmemSize(); }

    static std::string GetName()
    { return host_model::conv_level::name_of_kernel<GroupedConvolutionBackwardDataKernel>(); }
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
        const host_model::backward_data_gemm& gemm = host_model::find_gemm(kargs.call, block.x);
        const auto [tile_m, tile_n] =
            TilePartitioner(static_cast<index_t>(kargs.call.gemm.m),
                            static_cast<index_t>(kargs.call.gemm.n))
                .GetOutputTileIndex(static_cast<index_t>(block.x - gemm.first_block));
        host_model::run_backward_data_block(facts, kargs.call, gemm, tile_m, tile_n, block);
    }
};

} // namespace ck_tile
