// SPDX-License-Identifier: MIT
#pragma once

#if defined(__CUDACC__)

#include <stdexcept>
#include <string>

#include "ck_tile/core/utility/hip_types.hpp"
#include "ck_tile/host_model/rejection.hpp"

namespace ck_tile {

inline void hip_check_error(hipError_t error)
{
    if(error == cudaErrorMemoryAllocation)
    {
        (void)cudaGetLastError();
        throw host_model::rejected_launch("device-memory",
                                          "the device has too little memory left for the launch");
    }
    if(error != hipSuccess)
    {
        throw std::runtime_error(std::string("CUDA call failed: ") + hipGetErrorString(error));
    }
}

} // namespace ck_tile

#define HIP_CHECK_ERROR(call) ck_tile::hip_check_error(call)

#else
#include_next "ck_tile/core/utility/hip_check_error.hpp"
#endif
