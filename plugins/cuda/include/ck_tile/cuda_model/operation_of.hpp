// SPDX-License-Identifier: MIT
// From a kernel type and a call to the operation that is fused into its engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ck_tile/cuda_model/fused_operation.hpp"
#include "ck_tile/cuda_model/tile_config.hpp"
#include "ck_tile/cuda_model/workspace.hpp"
#include "ck_tile/host_model/forward.hpp"

namespace ck_tile::cuda_model {

// Whether a kernel does anything with its sums; forward alone.
template <typename Kernel>
inline constexpr bool has_operation = Kernel::facts.elementwise.combine != nullptr;

namespace impl {

template <typename Kernel, std::size_t... I>
fused_operation<typename Kernel::EpiloguePipeline::CDElementwise,
                Kernel::facts.elementwise.d_types[I]...>
    operation_type(std::index_sequence<I...>);

template <typename Kernel>
auto operation_type()
{
    if constexpr(has_operation<Kernel>)
    {
        constexpr auto count = static_cast<std::size_t>(Kernel::facts.elementwise.d_count);
        return decltype(operation_type<Kernel>(std::make_index_sequence<count>{})){};
    }
    else
    {
        return no_operation{};
    }
}

} // namespace impl

template <typename Kernel>
using operation_of = decltype(impl::operation_type<Kernel>());

// A kernel's tile_config, with its operation if it has one.
template <typename Kernel, typename Config>
using config_with_operation =
    std::conditional_t<has_operation<Kernel>, fusing<Config, operation_of<Kernel>>, Config>;

namespace impl {

template <std::size_t Number>
struct aligned_d_tensor;

// The operation as it is called; D tensors that begin anywhere are copied, in the stream, to where
// vectors can be read from.
template <typename Kernel, std::size_t... I>
operation_of<Kernel>
bind_operation(cudaStream_t stream, const host_model::forward_call& call, std::index_sequence<I...>)
{
    const host_model::conv_shape& s          = call.shape;
    const host_model::elementwise_call& from = call.elementwise;
    const std::int64_t channels              = s.G * s.K;
    const std::int64_t elements              = s.N * host_model::volume(s.output) * channels;
    operation_of<Kernel> made{};
    std::memcpy(&made.functor, from.functor, sizeof(made.functor));
    const auto aligned = [&]<std::size_t Number>() -> const void* {
        const void* tensor = from.d[Number];
        if(reinterpret_cast<std::uintptr_t>(tensor) % 16 == 0) { return tensor; }
        const auto bytes =
            static_cast<std::size_t>(from.d_per_channel[Number] ? channels : elements) *
            host_model::size_of(Kernel::facts.elementwise.d_types[Number]);
        void* copy = workspace_of<aligned_d_tensor<Number>>(bytes);
        hip_check_error(cudaMemcpyAsync(copy, tensor, bytes, cudaMemcpyDeviceToDevice, stream));
        return copy;
    };
    ((made.d[I] = aligned.template operator()<I>(), made.per_channel[I] = from.d_per_channel[I]),
     ...);
    made.channels_alone = (from.d_per_channel[I] && ...);
    return made;
}

} // namespace impl

template <typename Kernel, typename Call>
operation_of<Kernel> make_operation([[maybe_unused]] cudaStream_t stream,
                                    [[maybe_unused]] const Call& call)
{
    if constexpr(has_operation<Kernel>)
    {
        return impl::bind_operation<Kernel>(stream, call, typename operation_of<Kernel>::indices{});
    }
    else
    {
        return {};
    }
}

} // namespace ck_tile::cuda_model
