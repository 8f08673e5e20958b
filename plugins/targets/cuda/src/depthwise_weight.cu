// SPDX-License-Identifier: MIT
// Starts of the kernels for weight gradients of groups with one channel.
#include "ck_tile/cuda_model/depthwise_weight.hpp"

#include <cstddef>

#include "ck_tile/cuda_model/depthwise_weight_launch.hpp"
#include "ck_tile/cuda_model/start.hpp"
#include "ck_tile/cuda_model/workspace.hpp"

namespace ck_tile::cuda_model {

namespace {

using host_model::data_type;

template <data_type Type, int Width, int Stride>
struct sum_tag;
template <data_type Type>
struct adder_tag;

float* partial_sums(const depthwise_weight_params& p)
{
    const auto sums = static_cast<std::size_t>(p.filter[0]) * static_cast<std::size_t>(p.filter[1]);
    const auto bytes = sums * static_cast<std::size_t>(p.groups) *
                       static_cast<std::size_t>(p.parts) * sizeof(float);
    return static_cast<float*>(impl::workspace_of<depthwise_weight_params>(bytes));
}

template <data_type Type, int Width, int Stride>
void start_sums(cudaStream_t stream, const depthwise_weight_params& p)
{
    impl::start<sum_tag<Type, Width, Stride>>(&depthwise_weight<Type, Width, Stride>,
                                              static_cast<unsigned>(p.parts) *
                                                  static_cast<unsigned>(depthwise_chunks(p.groups)),
                                              static_cast<unsigned>(p.filter[0]) * 32,
                                              0,
                                              stream,
                                              p.result,
                                              p);
}

template <data_type Type, int Width>
void start_stride(cudaStream_t stream, const depthwise_weight_params& p, std::int64_t stride)
{
    if(stride == 1) { start_sums<Type, Width, 1>(stream, p); }
    else
    {
        start_sums<Type, Width, 2>(stream, p);
    }
}

template <data_type Type>
void start_width(cudaStream_t stream, const depthwise_weight_params& p, std::int64_t stride)
{
    switch(p.filter[1])
    {
    case 3: return start_stride<Type, 3>(stream, p, stride);
    case 5: return start_stride<Type, 5>(stream, p, stride);
    default: return start_stride<Type, 7>(stream, p, stride);
    }
}

template <data_type Type>
void start_adders(cudaStream_t stream, const depthwise_weight_params& p)
{
    const int sums = p.filter[0] * p.filter[1] * p.groups;
    impl::start<adder_tag<Type>>(&add_depthwise_parts<Type, default_bf16_rounding_mode>,
                                 static_cast<unsigned>((sums + 31) / 32),
                                 32u * depthwise_adders,
                                 static_cast<int>(sizeof(float)) * 32 * depthwise_adders,
                                 stream,
                                 p.result,
                                 p);
}

bool is_known(data_type type)
{ return type == data_type::bf16 || type == data_type::fp16 || type == data_type::fp32; }

// Calls start with a known type as a constant.
template <typename Start>
void with_type(data_type type, const Start& start)
{
    switch(type)
    {
    case data_type::bf16: start.template operator()<data_type::bf16>(); break;
    case data_type::fp16: start.template operator()<data_type::fp16>(); break;
    default: start.template operator()<data_type::fp32>(); break;
    }
}

} // namespace

bool launch_depthwise_weight(cudaStream_t stream,
                             const host_model::backward_weight_call& call,
                             data_type operands,
                             data_type result)
{
    if(!is_depthwise_weight(call.shape) || !is_known(operands) || !is_known(result))
    {
        return false;
    }
    depthwise_weight_params p =
        make_depthwise_weight_params(call.shape, impl::multiprocessors() * depthwise_resident);
    p.in      = call.in;
    p.out     = call.out;
    p.result  = call.wei;
    p.partial = partial_sums(p);
    with_type(operands,
              [&]<data_type Type>() { start_width<Type>(stream, p, call.shape.stride[2]); });
    with_type(result, [&]<data_type Type>() { start_adders<Type>(stream, p); });
    return true;
}

} // namespace ck_tile::cuda_model
