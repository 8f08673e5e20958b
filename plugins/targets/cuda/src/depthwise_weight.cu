// SPDX-License-Identifier: MIT
// Starts of the kernels for weight gradients of groups with one channel.
#include "ck_tile/cuda_model/depthwise_weight.hpp"

#include <cstddef>

#include "ck_tile/cuda_model/add_parts_start.hpp"
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
    impl::start<tag>(&depthwise_weight<Type, Tile>,
                     depthwise_blocks(p),
                     static_cast<unsigned>(p.warps) * 32,
                     bytes,
                     stream,
                     p.result,
                     p);
    impl::start_adders(stream, result, depthwise_parts(p, Tile::size));
    return true;
}

} // namespace

bool launch_depthwise_kernels(cudaStream_t stream,
                              const backward_weight_call& call,
                              data_type operands,
                              data_type result)
{
    if(!is_depthwise(call.shape) || !impl::is_float_type(operands) || !impl::is_float_type(result))
    {
        return false;
    }
    return impl::with_float_type(operands, [&]<data_type Type>() {
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
