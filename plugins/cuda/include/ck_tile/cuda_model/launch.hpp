// SPDX-License-Identifier: MIT
// From a kernel type and its arguments to a launch on the device.
#pragma once

#include <algorithm>
#include <concepts>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ck_tile/core/container/tuple.hpp"
#include "ck_tile/core/utility/hip_check_error.hpp"
#include "ck_tile/cuda_model/combine_result.hpp"
#include "ck_tile/cuda_model/depthwise.hpp"
#include "ck_tile/cuda_model/depthwise_launch.hpp"
#include "ck_tile/cuda_model/elementwise.hpp"
#include "ck_tile/cuda_model/group_weight_launch.hpp"
#include "ck_tile/cuda_model/group_weight_plan.hpp"
#include "ck_tile/cuda_model/hopper_launch.hpp"
#include "ck_tile/cuda_model/implicit_gemm.hpp"
#include "ck_tile/cuda_model/matrix_launch.hpp"
#include "ck_tile/cuda_model/operation_of.hpp"
#include "ck_tile/cuda_model/start.hpp"
#include "ck_tile/cuda_model/stream_k.hpp"

namespace ck_tile::cuda_model {

namespace impl {

template <typename Kernel>
concept convolution_kernel =
    std::same_as<std::remove_cvref_t<decltype(Kernel::facts)>, host_model::kernel_facts>;

template <typename Kernel>
concept matrix_kernel =
    std::same_as<std::remove_cvref_t<decltype(Kernel::facts)>, host_model::plain_gemm_facts>;

template <typename Kernel>
concept depthwise_kernel =
    std::same_as<std::remove_cvref_t<decltype(Kernel::facts)>, host_model::depthwise_facts>;

template <typename Kernel>
concept combining_kernel =
    requires(const typename Kernel::Args& args) { args.combine(args.elements); };

template <typename Kernel, typename KernelArgs>
auto call_of(const KernelArgs& kargs)
{
    auto call = kargs.call;
    // A two-stage launcher may redirect the pointers after the arguments were made.
    call.in  = kargs.in_ptr;
    call.wei = kargs.wei_ptr;
    call.out = kargs.out_ptr;
    return call;
}

template <typename Kernel, int BlocksPerUnit, typename KernelArgs>
void launch_convolution(cudaStream_t stream, const KernelArgs& kargs)
{
    constexpr const host_model::kernel_facts& facts = Kernel::facts;
    using config =
        config_with_operation<Kernel, typename tile_config_of<Kernel, BlocksPerUnit>::type>;
    using partitioner = typename Kernel::TilePartitioner;
    using layout      = shared_layout<config>;

    const auto call = call_of<Kernel>(kargs);
    gemm_params p   = make_gemm_params(facts, call);
    if constexpr(facts.stream_k)
    {
        p.workspace = kargs.workspace_ptr;
        start<Kernel>(&stream_k_gemm<config,
                                     facts.stream_k_reduction == 2,
                                     facts.stream_k_persistent,
                                     kernel_tag<Kernel, layout::bytes>>,
                      static_cast<unsigned>(partitioner::GridSize(kargs.plan)),
                      config::threads,
                      layout::bytes,
                      stream,
                      nullptr,
                      p,
                      kargs.plan);
    }
    else
    {
        if constexpr(host_model::size_of(facts.a_type) > 1)
        {
            if(launch_depthwise_kernels(stream, call, config::ab_type, config::e_type))
            {
                // These are compiled once, for whatever is done with their sums.
                if constexpr(has_operation<Kernel>) { launch_combination<Kernel>(stream, call); }
                return;
            }
        }
        if constexpr(config::weight && is_group_weight_tile(config::m, config::n))
        {
            if(launch_group_weight(stream, call, config::ab_type, config::e_type)) { return; }
        }
        const operation_of<Kernel> fused = make_operation<Kernel>(stream, call);
        using plan                       = tile_config_of<Kernel, BlocksPerUnit>;
        if constexpr(takes_engine_w(plan::values) && CKPROF_CUDA_ENGINE_W)
        {
            using hopper = hopper_config<config, plan::values.hopper_stages, plan::values.turns>;
            if(launch_hopper<Kernel, hopper>(stream, call, fused)) { return; }
        }
        p.tiles = partitioner::GridSize(p.m, p.n);
        p.blocks_x =
            std::int64_t{p.tiles} * (facts.direction == direction::backward_data ? p.gemms : 1);
        start<Kernel>(&implicit_gemm<kernel_tag<Kernel, layout::bytes>, config, partitioner>,
                      linear_blocks(p),
                      config::threads,
                      layout::bytes,
                      stream,
                      covers_result(p) ? p.result : nullptr,
                      p,
                      fused);
    }
}

template <typename Kernel, typename KernelArgs>
void launch_depthwise(cudaStream_t stream, const KernelArgs& kargs)
{
    using traits             = typename Kernel::DepthwiseTraits;
    const depthwise_params p = make_depthwise_params(Kernel::facts, kargs.call);
    start<Kernel>(&depthwise<traits, kernel_tag<Kernel, depthwise_tile<traits>::bytes>>,
                  static_cast<unsigned>(p.groups) * static_cast<unsigned>(p.batches),
                  traits::BlockSize,
                  depthwise_tile<traits>::bytes,
                  stream,
                  nullptr,
                  p);
}

template <typename... Values, std::size_t... I>
void copy_values(const std::tuple<Values...>& values,
                 std::int64_t* destination,
                 std::index_sequence<I...>)
{ ((destination[I] = static_cast<std::int64_t>(std::get<I>(values))), ...); }

template <typename Kernel,
          typename... Lengths,
          typename... InStrides,
          typename... OutStrides,
          typename Input>
void launch_elementwise(cudaStream_t stream,
                        const tuple<Lengths...>& lengths,
                        const tuple<InStrides...>& input_strides,
                        const tuple<OutStrides...>& output_strides,
                        const tuple<Input>& inputs,
                        typename Kernel::YDataType* output)
{
    constexpr int rank = static_cast<int>(sizeof...(Lengths));
    elementwise_params<rank> p{};
    copy_values(lengths, p.length, std::make_index_sequence<rank>{});
    copy_values(input_strides, p.from, std::make_index_sequence<rank>{});
    copy_values(output_strides, p.to, std::make_index_sequence<rank>{});
    p.input  = std::get<0>(inputs);
    p.output = output;
    p.total  = 1;
    for(const std::int64_t length : p.length) { p.total *= length; }
    const auto blocks = std::min<std::int64_t>((p.total + 255) / 256, 65536);
    start<Kernel>(
        &elementwise<Kernel, rank>, static_cast<unsigned>(blocks), 256, 0, stream, nullptr, p);
}

template <typename Kernel>
void launch_each(cudaStream_t stream, const typename Kernel::Args& args)
{
    start<Kernel>(&combine_each<typename Kernel::Args>,
                  Kernel::GridSize(args).x,
                  256,
                  0,
                  stream,
                  nullptr,
                  args);
}

} // namespace impl

template <typename Kernel, int BlocksPerUnit, typename... Args>
void launch(cudaStream_t stream, const Args&... args)
{
    if constexpr(impl::convolution_kernel<Kernel>)
    {
        impl::launch_convolution<Kernel, BlocksPerUnit>(stream, args...);
    }
    else if constexpr(impl::matrix_kernel<Kernel>)
    {
        impl::launch_matrix<Kernel, BlocksPerUnit>(stream, args...);
    }
    else if constexpr(impl::depthwise_kernel<Kernel>)
    {
        impl::launch_depthwise<Kernel>(stream, args...);
    }
    else if constexpr(impl::combining_kernel<Kernel>)
    {
        impl::launch_each<Kernel>(stream, args...);
    }
    else
    {
        impl::launch_elementwise<Kernel>(stream, args...);
    }
}

} // namespace ck_tile::cuda_model
