// SPDX-License-Identifier: MIT
// Starts of the kernels for outputs, and for gradients of inputs, of groups with one channel.
#include "ck_tile/cuda_model/depthwise_image.hpp"

#include <cstddef>

#include "ck_tile/cuda_model/depthwise_launch.hpp"
#include "ck_tile/cuda_model/depthwise_start.hpp"
#include "ck_tile/cuda_model/depthwise_tiles.hpp"
#include "ck_tile/cuda_model/float_types.hpp"

namespace ck_tile::cuda_model {

namespace {

using host_model::conv_shape;
using host_model::data_type;
using host_model::direction;

template <data_type Type, typename Tile>
struct image_tag;

struct image_pointers
{
    const void* from;
    const void* weights;
    void* to;
};

template <data_type Type, typename Tile>
bool start_tiles(cudaStream_t stream,
                 const conv_shape& shape,
                 bool backward,
                 const image_pointers& pointers)
{
    constexpr auto function = &depthwise_image<Type, default_bf16_rounding_mode, Tile>;
    depthwise_plan p        = make_depthwise_plan<Tile>(shape, backward);
    const int bytes         = depthwise_stages<Type, Tile, false>::bytes(p);
    const int slots = impl::depthwise_slots<image_tag<Type, Tile>>(function, p.warps, bytes);
    if(slots == 0) { return false; }
    share_depthwise_plan(p, slots);
    p.image  = pointers.from;
    p.other  = pointers.weights;
    p.result = pointers.to;
    impl::start_depthwise<image_tag<Type, Tile>>(function, bytes, stream, p);
    return true;
}

bool launch_images(cudaStream_t stream,
                   const conv_shape& shape,
                   bool backward,
                   const image_pointers& pointers,
                   data_type type)
{
    return impl::with_float_type(type, [&]<data_type Type>() {
        return impl::with_size(shape, [&]<int Size>() {
            const auto start = [&]<typename Tile>() {
                return start_tiles<Type, Tile>(stream, shape, backward, pointers);
            };
            if(shape.stride[2] == 1)
            {
                return start.template operator()<depthwise_image_tile<Type, 1, Size>>();
            }
            return backward ? start.template operator()<depthwise_scatter_tile<Size>>()
                            : start.template operator()<depthwise_image_tile<Type, 2, Size>>();
        });
    });
}

} // namespace

bool launch_depthwise_kernels(cudaStream_t stream,
                              const host_model::forward_call& call,
                              data_type operands,
                              data_type result)
{
    return has_depthwise_kernel(direction::forward, call.shape, operands, result) &&
           launch_images(stream, call.shape, false, {call.in, call.wei, call.out}, operands);
}

bool launch_depthwise_kernels(cudaStream_t stream,
                              const host_model::backward_data_call& call,
                              data_type operands,
                              data_type result)
{
    return has_depthwise_kernel(direction::backward_data, call.shape, operands, result) &&
           launch_images(stream, call.shape, true, {call.out, call.wei, call.in}, operands);
}

} // namespace ck_tile::cuda_model
