// SPDX-License-Identifier: MIT
// The forward kernel without a GEMM: chosen by a void tile partitioner.
#pragma once

#include <stdexcept>
#include <string>

#include "ck_tile/host_model/runtime.hpp"
#include "ck_tile/ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp"
#include "ck_tile/ops/grouped_convolution/pipeline/grouped_convolution_forward_depthwise_pipeline.hpp"

namespace ck_tile {

template <index_t NDimSpatial>
struct DepthwiseConvFwdKernelArgs : GroupedConvLengths<NDimSpatial>
{
    explicit DepthwiseConvFwdKernelArgs(const conv::ConvParam& param)
        : GroupedConvLengths<NDimSpatial>(param)
    {}

    host_model::depthwise_call call{};
};

// Grid: x groups, y batches of images. Layouts NGCHW, GKCYX, NGKHW with K = C = 1 per group;
// k_batch is not looked at.
template <typename GroupedConvTraitsType_, typename DepthwisePipeline_, typename Epilogue_>
struct GroupedConvolutionForwardKernel<GroupedConvTraitsType_, void, DepthwisePipeline_, Epilogue_>
{
    using GroupedConvTraitsType = GroupedConvTraitsType_;
    using DepthwiseTraits       = typename DepthwisePipeline_::Traits;

    static_assert(GroupedConvTraitsType::NDimSpatial == 2, "depthwise kernels are two-dimensional");

    static constexpr index_t NDimSpatial = 2;
    static constexpr index_t kBlockSize  = DepthwiseTraits::BlockSize;

    static constexpr host_model::depthwise_facts facts = DepthwiseTraits::facts;

    using KernelArgs = DepthwiseConvFwdKernelArgs<NDimSpatial>;

    template <typename CDElementwise>
    static KernelArgs MakeKernelArgs(const GroupedConvFwdHostArgs<CDElementwise>& args)
    {
        if(args.num_dim_spatial_ != NDimSpatial)
        {
            throw std::runtime_error("this kernel is for problems of another dimension");
        }
        KernelArgs kargs(args);
        kargs.call = {host_model::make_conv_shape(args), args.in_ptr, args.wei_ptr, args.out_ptr};
        return kargs;
    }

    static bool IsSupportedArgument(const KernelArgs& kargs)
    { return host_model::supports_depthwise(facts, kargs.call.shape); }

    static dim3 GridSize(const KernelArgs& kargs)
    {
        const std::int64_t batches =
            (kargs.call.shape.N + DepthwiseTraits::NBatch - 1) / DepthwiseTraits::NBatch;
        return dim3(static_cast<std::uint32_t>(kargs.call.shape.G),
                    static_cast<std::uint32_t>(batches));
    }

    static dim3 BlockSize() { return dim3(kBlockSize); }

    static constexpr index_t GetSmemSize() { return facts.smem_bytes(); }

    static std::string GetName() { return host_model::kernel_name(facts); }
    static std::string GetTypeString() { return GetName(); }
    static std::string GetInstanceString() { return host_model::instance_string(facts); }

    void operator()(const host_model::block_position& block, const KernelArgs& kargs) const
    { host_model::run_depthwise_block(facts, kargs.call, block); }
};

} // namespace ck_tile
