// SPDX-License-Identifier: MIT
// Starts of the kernels for weight gradients of groups with few channels.
#include "ck_tile/cuda_model/group_weight.hpp"

#include <cstddef>

#include "ck_tile/cuda_model/add_parts_start.hpp"
#include "ck_tile/cuda_model/group_weight_launch.hpp"
#include "ck_tile/cuda_model/hopper_group_weight.hpp"
#include "ck_tile/cuda_model/tensor_map_request.hpp"
#include "ck_tile/cuda_model/tensor_maps.hpp"
#include "ck_tile/cuda_model/workspace.hpp"

namespace ck_tile::cuda_model {

namespace {

using host_model::data_type;

template <data_type Type>
struct sum_tag;

template <data_type Type>
struct box_tag;

// With the tensor copy engine, if there is one that can.
template <data_type Type>
bool start_boxes(cudaStream_t stream, const group_weight_params& p)
{
    if(!CKPROF_CUDA_ENGINE_W || !has_group_boxes(p) || !makes_tensor_maps()) { return false; }
    const auto request = [&](const void* base, const int (&size)[2], int rows) {
        const image_box box{group_chunk, static_cast<int>(p.width.divisor), rows};
        return make_box_map_request(base, p.channels, size, p.images(), box, true);
    };
    const tile_map_request images    = request(p.in, p.input, p.rows);
    const tile_map_request gradients = request(p.out, p.output, p.gradient_rows());
    if(!is_possible(images) || !is_possible(gradients)) { return false; }
    static remembered_map<tile_map_request>& image_map    = *new remembered_map<tile_map_request>;
    static remembered_map<tile_map_request>& gradient_map = *new remembered_map<tile_map_request>;
    constexpr CUtensorMapDataType type = Type == data_type::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                                 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    const group_weight_boxes boxes{image_map.get(images, type), gradient_map.get(gradients, type)};
    impl::start<box_tag<Type>>(&hopper_group_weight<Type>,
                               p.blocks(),
                               group_threads,
                               p.shared_bytes(),
                               stream,
                               p.result,
                               p,
                               boxes);
    return true;
}

template <data_type Type>
void start_sums(cudaStream_t stream, const group_weight_params& p)
{
    if(start_boxes<Type>(stream, p)) { return; }
    impl::start<sum_tag<Type>>(
        &group_weight<Type>, p.blocks(), group_threads, p.shared_bytes(), stream, p.result, p);
}

} // namespace

bool launch_group_weight(cudaStream_t stream,
                         const host_model::backward_weight_call& call,
                         data_type operands,
                         data_type result)
{
    if(!is_group_weight(call.shape) || !has_group_weight_kernel(operands, result)) { return false; }
    group_weight_params p = make_group_weight_params(
        call.shape, static_cast<int>(call.k_batch), impl::most_shared_memory());
    if(p.rows == 0) { return false; }
    const std::size_t bytes =
        static_cast<std::size_t>(p.parts) * static_cast<std::size_t>(p.weights()) * sizeof(float);
    p.in      = call.in;
    p.out     = call.out;
    p.partial = static_cast<float*>(impl::workspace_of<group_weight_params>(bytes));
    p.result  = call.wei;
    if(operands == data_type::bf16) { start_sums<data_type::bf16>(stream, p); }
    else
    {
        start_sums<data_type::fp16>(stream, p);
    }
    impl::start_adders(stream, result, group_weight_parts(p));
    return true;
}

} // namespace ck_tile::cuda_model
