// SPDX-License-Identifier: MIT
// What the starts of kernels for single channels share: types and sizes as constants, and how many
// blocks a device runs at the same time.
#pragma once

#include <array>

#include "ck_tile/core/utility/hip_check_error.hpp"
#include "ck_tile/cuda_model/depthwise_plan.hpp"
#include "ck_tile/cuda_model/start.hpp"

namespace ck_tile::cuda_model::impl {

inline bool has_depthwise_kernels(host_model::data_type type)
{
    using host_model::data_type;
    return type == data_type::bf16 || type == data_type::fp16 || type == data_type::fp32;
}

// Calls start with a type that has kernels as a constant.
template <typename Start>
auto with_type(host_model::data_type type, const Start& start)
{
    using host_model::data_type;
    switch(type)
    {
    case data_type::bf16: return start.template operator()<data_type::bf16>();
    case data_type::fp16: return start.template operator()<data_type::fp16>();
    default: return start.template operator()<data_type::fp32>();
    }
}

// Calls start with the size of the square that the filter lies in.
template <typename Start>
auto with_size(const host_model::conv_shape& shape, const Start& start)
{
    switch(depthwise_filter_size(shape))
    {
    case 3: return start.template operator()<3>();
    case 5: return start.template operator()<5>();
    default: return start.template operator()<7>();
    }
}

// Blocks of so many warps that the device runs at the same time; 0 if one has too much shared
// memory for it. Tag is a type of its own for each function.
template <typename Tag, typename... Params>
int depthwise_slots(void (*function)(Params...), int warps, int shared_bytes)
{
    static std::array<int, depthwise_most_warps + 1> known = {};
    int& slots                                             = known[static_cast<std::size_t>(warps)];
    if(slots == 0)
    {
        int device = 0, most = 0, resident = 0;
        hip_check_error(cudaGetDevice(&device));
        hip_check_error(
            cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
        if(shared_bytes > most) { return 0; }
        hip_check_error(cudaFuncSetAttribute(
            function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
        hip_check_error(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &resident, function, warps * 32, static_cast<std::size_t>(shared_bytes)));
        slots = resident * multiprocessors();
    }
    return slots;
}

} // namespace ck_tile::cuda_model::impl
