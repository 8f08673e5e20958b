// SPDX-License-Identifier: MIT
// A kernel that is launched while the one before is running: it takes the place of blocks that have
// ended, and waits for the others where it needs what they write.
#pragma once

#include "ck_tile/cuda_model/ptx.hpp"

namespace ck_tile::cuda_model {

// Devices before compute capability 9.0 start the next kernel afterwards.
__device__ __forceinline__ void let_dependents_launch()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Returns at once in a kernel that was not launched early.
__device__ __forceinline__ void wait_for_kernel_before()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

} // namespace ck_tile::cuda_model
