// SPDX-License-Identifier: MIT
// What a forward kernel does with its rounded sums, as a pass over its result: for kernels that are
// compiled once, and so have no operation fused into them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#include "ck_tile/cuda_model/start.hpp"
#include "ck_tile/host_model/elementwise.hpp"
#include "ck_tile/host_model/forward.hpp"

namespace ck_tile::cuda_model {

template <typename Functor>
struct combine_params
{
    Functor functor;
    void* result;
    std::int64_t elements;
    std::int64_t channels; // of all groups; they are the result's fastest axis
    const void* d[host_model::most_combined_tensors];
    bool d_per_channel[host_model::most_combined_tensors];
};

template <typename E, typename Ds, typename Functor, std::size_t... I>
__device__ __forceinline__ void combine_element(const combine_params<Functor>& p,
                                                std::int64_t element,
                                                std::int64_t channel,
                                                std::index_sequence<I...>)
{
    E& result   = static_cast<E*>(p.result)[element];
    const E sum = result;
    p.functor(result,
              sum,
              static_cast<const std::tuple_element_t<I, Ds>*>(
                  p.d[I])[p.d_per_channel[I] ? channel : element]...);
}

template <typename E, typename Ds, typename Functor>
__global__ void __launch_bounds__(256)
    combine_result(const __grid_constant__ combine_params<Functor> p)
{
    for(std::int64_t i = blockIdx.x * 256ll + threadIdx.x; i < p.elements; i += gridDim.x * 256ll)
    {
        combine_element<E, Ds>(
            p, i, i % p.channels, std::make_index_sequence<std::tuple_size_v<Ds>>{});
    }
}

// A kernel that combines elements of its own accord: Args has their number, and a function for
// each.
template <typename Args>
__global__ void __launch_bounds__(256) combine_each(const __grid_constant__ Args p)
{
    for(std::int64_t i = blockIdx.x * 256ll + threadIdx.x; i < p.elements; i += gridDim.x * 256ll)
    {
        p.combine(i);
    }
}

template <typename Kernel>
void launch_combination(cudaStream_t stream, const host_model::forward_call& call)
{
    using epilogue = typename Kernel::EpiloguePipeline;
    using functor  = typename epilogue::CDElementwise;
    using element  = typename epilogue::ODataType;
    using ds       = typename epilogue::DsDataType::base;

    const host_model::conv_shape& s = call.shape;
    combine_params<functor> p{};
    std::memcpy(&p.functor, call.elementwise.functor, sizeof(functor));
    p.result   = call.out;
    p.channels = s.G * s.K;
    p.elements = s.N * s.output[0] * s.output[1] * s.output[2] * p.channels;
    for(int d = 0; d < Kernel::facts.elementwise.d_count; ++d)
    {
        p.d[d]             = call.elementwise.d[d];
        p.d_per_channel[d] = call.elementwise.d_per_channel[d];
    }
    const auto blocks = std::min<std::int64_t>((p.elements + 255) / 256, 65536);
    impl::start<combine_params<functor>>(&combine_result<element, ds, functor>,
                                         static_cast<unsigned>(blocks),
                                         256,
                                         0,
                                         stream,
                                         nullptr,
                                         p);
}

} // namespace ck_tile::cuda_model
