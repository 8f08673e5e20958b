// SPDX-License-Identifier: MIT
// Starts of the kernels for weight gradients of groups with one channel.
#include "ck_tile/cuda_model/depthwise_weight.hpp"

#include <cstddef>

#include "ck_tile/cuda_model/depthwise_launch.hpp"
#include "ck_tile/cuda_model/depthwise_start.hpp"
#include "ck_tile/cuda_model/depthwise_tiles.hpp"
#include "ck_tile/cuda_model/workspace.hpp"

namespace ck_tile::cuda_model {

namespace {

using host_model::backward_weight_call;
using host_model::data_type;

template <data_type Type, typename Tile>
struct sum_tag;

template <data_type Type>
void start_adders(cudaStream_t stream, const depthwise_plan& p, int size)
{
    const int sums = size * size * p.groups;
    // See let_adders_launch().
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim          = dim3(static_cast<unsigned>((sums + 31) / 32));
    config.blockDim         = dim3(32u * depthwise_adders);
    config.dynamicSmemBytes = sizeof(float) * 32 * depthwise_adders;
    config.stream           = stream;
    config.attrs            = &early;
    config.numAttrs         = CKPROF_CUDA_CAPABILITY >= 90 ? 1 : 0;
    hip_check_error(cudaLaunchKernelEx(
        &config, &add_depthwise_parts<Type, default_bf16_rounding_mode>, p, size));
}

template <data_type Type, typename Tile>
bool start_sums(cudaStream_t stream, const backward_weight_call& call, data_type result)
{
    using tag        = sum_tag<Type, Tile>;
    depthwise_plan p = make_depthwise_plan<Tile>(call.shape, false);
    const int bytes  = depthwise_weight_bytes<Type, Tile>(p.warps);
    const int slots  = impl::depthwise_slots<tag>(&depthwise_weight<Type, Tile>, p.warps, bytes);
    if(slots == 0) { return false; }
    share_depthwise_plan(p, slots);
    p.image   = call.in;
    p.other   = call.out;
    p.result  = call.wei;
    p.partial = static_cast<float*>(
        impl::workspace_of<depthwise_plan>(depthwise_partial_sums(p, Tile::size) * sizeof(float)));
    hip_check_error(deferred_zeroing::of_thread().settle(stream, p.result));
    depthwise_weight<Type, Tile><<<depthwise_blocks(p),
                                   static_cast<unsigned>(p.warps) * 32,
                                   static_cast<std::size_t>(bytes),
                                   stream>>>(p);
    impl::with_type(result, [&]<data_type To>() { start_adders<To>(stream, p, Tile::size); });
    return true;
}

} // namespace

bool launch_depthwise_kernels(cudaStream_t stream,
                              const backward_weight_call& call,
                              data_type operands,
                              data_type result)
{
    if(!is_depthwise(call.shape) || !impl::has_depthwise_kernels(operands) ||
       !impl::has_depthwise_kernels(result))
    {
        return false;
    }
    return impl::with_type(operands, [&]<data_type Type>() {
        return impl::with_size(call.shape, [&]<int Size>() {
            return call.shape.stride[2] == 1
                       ? start_sums<Type, depthwise_weight_tile<Type, 1, Size>>(
                             stream, call, result)
                       : start_sums<Type, depthwise_weight_tile<Type, 2, Size>>(
                             stream, call, result);
        });
    });
}

} // namespace ck_tile::cuda_model
