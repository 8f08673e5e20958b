// SPDX-License-Identifier: MIT
// The backward-weight convolution kernel. Grid: x output tiles, y groups, z parts of K, which add
// to the result: the caller zeroes it first.
#pragma once

#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/gemm_kernel.hpp"

namespace ck_tile {

template <typename ConvTraits, typename TilePartitioner, typename GemmPipeline, typename Epilogue>
struct GroupedConvolutionBackwardWeightKernel
    : host_model::gemm_kernel<host_model::direction::backward_weight,
                              ConvTraits,
                              TilePartitioner,
                              GemmPipeline,
                              Epilogue>
{
    using base       = host_model::gemm_kernel<host_model::direction::backward_weight,
                                               ConvTraits,
                                               TilePartitioner,
                                               GemmPipeline,
                                               Epilogue>;
    using KernelArgs = host_model::gemm_kernel_args<host_model::backward_weight_call>;

    // Fails to compile in the headers, too, where the traits lack the name.
    static constexpr index_t SpatialDimensions = ConvTraits::NDimSpatial_;

    static KernelArgs MakeKernelArgs(const GroupedConvBwdWeightHostArgs& args)
    {
        base::check_dimensions(args);
        return base::make_args(host_model::make_backward_weight_call(
                                   base::facts, host_model::make_conv_shape(args), args.k_batch),
                               args);
    }

    static bool IsSupportedArgument(const KernelArgs& kargs)
    { return host_model::supports_backward_weight(base::facts, kargs.call); }

    void operator()(const host_model::block_position& block, const KernelArgs& kargs) const
    {
        const auto [tile_m, tile_n] = base::tile_of(kargs, block);
        host_model::run_backward_weight_block(base::facts, kargs.call, tile_m, tile_n, block);
    }
};

} // namespace ck_tile
