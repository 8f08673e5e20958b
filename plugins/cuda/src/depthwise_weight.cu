// SPDX-License-Identifier: MIT
// Starts of the kernels for weight gradients of groups with one channel.
#include "ck_tile/cuda_model/depthwise_weight.hpp"

#include <cstddef>

#include "ck_tile/cuda_model/add_parts_start.hpp"
#include "ck_tile/cuda_model/depthwise_launch.hpp"
#include "ck_tile/cuda_model/depthwise_start.hpp"
#include "ck_tile/cuda_model/depthwise_tiles.hpp"
#include "ck_tile/cuda_model/float_types.hpp"
#include "ck_tile/cuda_model/workspace.hpp"
#if CKPROF_CUDA_ENGINE_W
#include "ck_tile/cuda_model/depthwise_boxes.hpp"
#include "ck_tile/cuda_model/tensor_map_request.hpp"
#include "ck_tile/cuda_model/tensor_maps.hpp"
#endif

namespace ck_tile::cuda_model {

namespace {

using host_model::backward_weight_call;
using host_model::data_type;

template <data_type Type, typename Tile>
struct sum_tag;

template <int Size>
void share_sums(depthwise_plan& p, int slots)
{
    share_depthwise_plan(p, slots);
    p.partial = static_cast<float*>(
        impl::workspace_of<depthwise_plan>(depthwise_partial_sums(p, Size) * sizeof(float)));
}

#if CKPROF_CUDA_ENGINE_W
template <data_type Type, typename Tile>
struct box_tag;

// By 7 to 15 % where that was measured; others have not been compared.
template <data_type Type, typename Tile>
inline constexpr bool boxes_pay = sizeof(stored_t<Type>) == 2 && Tile::stride == 1;

template <data_type Type, typename Tile>
bool start_box_sums(cudaStream_t stream, depthwise_plan& p)
{
    using stages       = depthwise_stages<Type, Tile, true>;
    const auto request = [&](const void* base, const int (&size)[2], int columns, int rows) {
        return make_box_map_request(
            base, p.groups, size, p.images, {depthwise_lanes, columns, rows}, false);
    };
    const tile_map_request image = request(p.image, p.length, stages::columns(p.warps), 1);
    const tile_map_request gradients =
        request(p.other, p.positions, stages::gradient_columns(p.warps), Tile::rows);
    if(!makes_tensor_maps() || !is_possible(image) || !is_possible(gradients)) { return false; }
    const int bytes =
        std::max(box_copies<Type, Tile>::bytes(p), depthwise_weight_bytes<Type, Tile>(p));
    const int slots = impl::depthwise_slots<box_tag<Type, Tile>>(
        &depthwise_weight_boxes<Type, Tile>, p.warps, bytes);
    if(slots == 0) { return false; }
    share_sums<Tile::size>(p, slots);
    static remembered_map<tile_map_request>& of_image     = *new remembered_map<tile_map_request>;
    static remembered_map<tile_map_request>& of_gradients = *new remembered_map<tile_map_request>;
    constexpr CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT16; // copied as they are
    const depthwise_maps maps{of_image.get(image, type), of_gradients.get(gradients, type)};
    impl::start_depthwise<box_tag<Type, Tile>>(
        &depthwise_weight_boxes<Type, Tile>, bytes, stream, p, maps);
    return true;
}
#endif

template <data_type Type, typename Tile>
bool start_lane_sums(cudaStream_t stream, depthwise_plan& p)
{
    const int bytes = depthwise_weight_bytes<Type, Tile>(p);
    const int slots =
        impl::depthwise_slots<sum_tag<Type, Tile>>(&depthwise_weight<Type, Tile>, p.warps, bytes);
    if(slots == 0) { return false; }
    share_sums<Tile::size>(p, slots);
    impl::start_depthwise<sum_tag<Type, Tile>>(&depthwise_weight<Type, Tile>, bytes, stream, p);
    return true;
}

template <data_type Type, typename Tile>
bool start_sums(cudaStream_t stream, const backward_weight_call& call, data_type result)
{
    depthwise_plan p = make_depthwise_plan<Tile>(call.shape, false);
    p.image          = call.in;
    p.other          = call.out;
    p.result         = call.wei;
    bool started     = false;
#if CKPROF_CUDA_ENGINE_W
    if constexpr(boxes_pay<Type, Tile>) { started = start_box_sums<Type, Tile>(stream, p); }
#endif
    if(!started && !start_lane_sums<Type, Tile>(stream, p)) { return false; }
    impl::start_adders(stream, result, depthwise_parts(p, Tile::size));
    return true;
}

} // namespace

bool launch_depthwise_kernels(cudaStream_t stream,
                              const backward_weight_call& call,
                              data_type operands,
                              data_type result)
{
    if(!has_depthwise_kernel(host_model::direction::backward_weight, call.shape, operands, result))
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
