// SPDX-License-Identifier: MIT
// The backward-weight convolution kernel. Grid: x output tiles, y groups, z parts of K, which add
// to the result: the caller zeroes it first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/gemm_kernel.hpp"
#include "ck_tile/host_model/rejection.hpp"

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
    {
        // In this order: the test of the problem forgets what was rejected before it.
        return host_model::supports_backward_weight(base::facts, kargs.call) &&
               (!host_model::were_all_conditions_tested() || right_tail(kargs.call));
    }

    // The tail of this pipeline reads blocks of the next split where a split has one or three. The
    // headers accept such problems and compute wrong results; the model computes what was meant, so
    // it must not accept them.
    static bool right_tail(const host_model::backward_weight_call& call)
    {
        constexpr bool affected =
            std::string_view(GemmPipeline::facts.class_name) == std::string_view("AgBgCrCompV4");
        if(!affected || call.k_batch < 2) { return true; }
        const std::int64_t grain = call.k_batch * TilePartitioner::KPerBlock;
        const std::int64_t loops = (call.gemm.k - 1) / grain + 1;
        if(loops != 1 && loops != 3) { return true; }
        return host_model::reject("split-tail",
                                  "splits with " + std::to_string(loops) +
                                      " blocks along K read blocks of the next split");
    }

    // What multiplies in this launch.
    static void choose_unit(KernelArgs& kargs)
    { kargs.call.unit = host_model::choose_unit(base::facts, kargs.call); }

    void operator()(const host_model::block_position& block, const KernelArgs& kargs) const
    {
        const auto [tile_m, tile_n] = base::tile_of(kargs, block);
        host_model::run_backward_weight_block(base::facts, kargs.call, tile_m, tile_n, block);
    }
};

} // namespace ck_tile
