// SPDX-License-Identifier: MIT
// What the starts of kernels for single channels share: sizes as constants, and how many blocks a
// device runs at the same time.
#pragma once

#include <array>

#include "ck_tile/core/utility/hip_check_error.hpp"
#include "ck_tile/cuda_model/depthwise_plan.hpp"
#include "ck_tile/cuda_model/start.hpp"

namespace ck_tile::cuda_model::impl {

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
        if(shared_bytes > most_shared_memory()) { return 0; }
        allow_shared_memory<Tag>(function, shared_bytes);
        int resident = 0;
        hip_check_error(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &resident, function, warps * 32, static_cast<std::size_t>(shared_bytes)));
        slots = resident * multiprocessors();
    }
    return slots;
}

} // namespace ck_tile::cuda_model::impl
