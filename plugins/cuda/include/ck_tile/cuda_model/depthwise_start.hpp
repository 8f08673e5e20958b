// SPDX-License-Identifier: MIT
// What the starts of kernels for single channels share: sizes as constants, and how many blocks a
// device runs at the same time.
#pragma once

#include <array>
#include <type_traits>

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
    struct answer
    { int bytes, slots; };
    static std::array<answer, depthwise_most_warps + 1> known = {}; // the last ones
    answer& last = known[static_cast<std::size_t>(warps)];
    if(last.bytes != shared_bytes)
    {
        if(shared_bytes > most_shared_memory()) { return 0; }
        allow_shared_memory<Tag>(function, shared_bytes);
        int resident = 0;
        hip_check_error(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &resident, function, warps * 32, static_cast<std::size_t>(shared_bytes)));
        last = {shared_bytes, resident * multiprocessors()};
    }
    return last.slots;
}

// Starts a kernel that computes a plan, which may take something beside it.
template <typename Tag, typename... Params>
void start_depthwise(void (*function)(depthwise_plan, Params...),
                     int shared_bytes,
                     cudaStream_t stream,
                     const depthwise_plan& p,
                     const std::type_identity_t<Params>&... more)
{
    start<Tag>(function,
               depthwise_blocks(p),
               static_cast<unsigned>(p.warps) * 32,
               shared_bytes,
               stream,
               p.result,
               p,
               more...);
}

} // namespace ck_tile::cuda_model::impl
