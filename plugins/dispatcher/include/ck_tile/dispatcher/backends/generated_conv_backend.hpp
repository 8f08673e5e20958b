// SPDX-License-Identifier: MIT
// Part of the model of CK Tile's dispatcher: launchers as functions of its problems.
//
// Operands and result of a run lie in g_conv_dispatch_buffers, in the order in which a direction
// takes them: backward data has the output's gradient in the place of the input, backward weight
// that in the place of the weight. Only backward weight is given a split of its reduction.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ck_tile/core.hpp"
#include "ck_tile/dispatcher/grouped_conv_registry.hpp"
#include "ck_tile/host.hpp"
#include "ck_tile/ops/grouped_convolution.hpp"

namespace ck_tile {
namespace dispatcher {
namespace backends {

template <int NDim>
conv::ConvParam make_conv_param(const GroupedConvProblem& problem)
{
    const auto axes = [](const std::array<std::int64_t, 3>& all) {
        std::vector<index_t> last;
        for(std::size_t i = all.size() - NDim; i < all.size(); ++i)
        {
            last.push_back(static_cast<index_t>(all[i]));
        }
        return last;
    };
    return conv::ConvParam(index_t{NDim},
                           static_cast<index_t>(problem.G),
                           static_cast<index_t>(problem.N),
                           static_cast<index_t>(problem.K),
                           static_cast<index_t>(problem.C),
                           axes(problem.filter_spatial),
                           axes(problem.input_spatial),
                           axes(problem.stride),
                           axes(problem.dilation),
                           axes(problem.padding),
                           axes(problem.padding));
}

inline stream_config make_stream_config(void* stream)
{
    const ConvDispatchBuffers& context = g_conv_dispatch_buffers;
    stream_config result;
    result.stream_id_    = reinterpret_cast<hipStream_t>(stream);
    result.time_kernel_  = context.benchmarking;
    result.log_level_    = 0;
    result.cold_niters_  = context.benchmarking ? context.warmup : 0;
    result.nrepeat_      = context.benchmarking ? context.repeat : 1;
    result.is_gpu_timer_ = context.benchmarking;
    result.flush_cache_  = context.flush_cache;
    return result;
}

template <typename Launcher, int NDim>
GroupedConvKernelInstance::RunFn make_conv_fwd_run_fn()
{
    return [](const GroupedConvProblem& problem, void* stream) {
        const ConvDispatchBuffers& at = g_conv_dispatch_buffers;
        const GroupedConvFwdHostArgs<> args(
            make_conv_param<NDim>(problem), at.input_ptr, at.weight_ptr, {}, at.output_ptr, 1);
        return Launcher::launch(args, make_stream_config(stream));
    };
}

template <typename Launcher, int NDim>
GroupedConvKernelInstance::RunFn make_conv_bwd_data_run_fn()
{
    return [](const GroupedConvProblem& problem, void* stream) {
        const ConvDispatchBuffers& at = g_conv_dispatch_buffers;
        const GroupedConvBwdDataHostArgs args(
            make_conv_param<NDim>(problem), at.output_ptr, at.weight_ptr, {}, at.input_ptr, 1);
        return Launcher::launch(args, make_stream_config(stream));
    };
}

template <typename Launcher, int NDim>
GroupedConvKernelInstance::RunFn make_conv_bwd_weight_run_fn()
{
    return [](const GroupedConvProblem& problem, void* stream) {
        const ConvDispatchBuffers& at = g_conv_dispatch_buffers;
        const GroupedConvBwdWeightHostArgs args(make_conv_param<NDim>(problem),
                                                at.input_ptr,
                                                at.output_ptr,
                                                {},
                                                at.weight_ptr,
                                                at.split_k > 1 ? at.split_k : 1);
        return Launcher::launch(args, make_stream_config(stream));
    };
}

template <typename Launcher, int NDim>
GroupedConvKernelInstance::IsSupportedFn make_conv_fwd_is_supported_fn()
{
    return [](const GroupedConvProblem& problem) {
        return Launcher::is_supported(make_conv_param<NDim>(problem), 1);
    };
}

template <typename Launcher, int NDim>
GroupedConvKernelInstance::IsSupportedFn make_conv_bwd_data_is_supported_fn()
{ return make_conv_fwd_is_supported_fn<Launcher, NDim>(); }

template <typename Launcher, int NDim>
GroupedConvKernelInstance::IsSupportedFn make_conv_bwd_weight_is_supported_fn()
{
    return [](const GroupedConvProblem& problem) {
        return Launcher::is_supported(make_conv_param<NDim>(problem),
                                      g_conv_dispatch_buffers.split_k);
    };
}

} // namespace backends
} // namespace dispatcher
} // namespace ck_tile
