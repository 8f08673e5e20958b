// SPDX-License-Identifier: MIT
// The forward convolution kernel. Grid: x output tiles, y groups, z 1.
#pragma once

#include "ck_tile/host_model/forward.hpp"
#include "ck_tile/host_model/gemm_kernel.hpp"

namespace ck_tile {

template <typename ConvTraits, typename TilePartitioner, typename GemmPipeline, typename Epilogue>
struct GroupedConvolutionForwardKernel : host_model::gemm_kernel<host_model::direction::forward,
                                                                 ConvTraits,
                                                                 TilePartitioner,
                                                                 GemmPipeline,
                                                                 Epilogue>
{
    using base       = host_model::gemm_kernel<host_model::direction::forward,
                                               ConvTraits,
                                               TilePartitioner,
                                               GemmPipeline,
                                               Epilogue>;
    using KernelArgs = host_model::gemm_kernel_args<host_model::forward_call>;

    static KernelArgs MakeKernelArgs(const GroupedConvFwdHostArgs& args)
    {
        base::check_dimensions(args);
        return base::make_args(host_model::make_forward_call(
                                   base::facts, host_model::make_conv_shape(args), args.k_batch),
                               args);
    }

    static bool IsSupportedArgument(const KernelArgs& kargs)
    { return host_model::supports_forward(base::facts, kargs.call); }

    // What multiplies in this launch, and its number.
    static void choose_unit(KernelArgs& kargs)
    {
        kargs.call.unit   = host_model::choose_unit(base::facts, kargs.call);
        kargs.call.launch = host_model::next_launch();
    }

    void operator()(const host_model::block_position& block, const KernelArgs& kargs) const
    {
        const auto [tile_m, tile_n] = base::tile_of(kargs, block);
        host_model::run_forward_block(base::facts, kargs.call, tile_m, tile_n, block.y, block.z);
    }
};

} // namespace ck_tile
