// SPDX-License-Identifier: MIT
// The few HIP names that generated kernels and their launchers mention, with their CUDA meaning.
// Sources that a host compiler reads get those of the host model.
#pragma once

#if defined(__CUDACC__)

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "ck_tile/cuda_model/deferred_zeroing.hpp"

using hipStream_t = cudaStream_t;
using hipError_t  = cudaError_t;

inline constexpr hipError_t hipSuccess           = cudaSuccess;
inline constexpr hipError_t hipErrorInvalidValue = cudaErrorInvalidValue;

inline const char* hipGetErrorString(hipError_t error) { return cudaGetErrorString(error); }

inline hipError_t
hipMemsetAsync(void* destination, int value, std::size_t bytes, hipStream_t stream)
{
    if(bytes == 0 || ck_tile::cuda_model::deferred_zeroing::of_thread().take(
                         {destination, bytes, bytes, 1}, value))
    {
        return hipSuccess;
    }
    return cudaMemsetAsync(destination, value, bytes, stream);
}

// `height` rows of `width` bytes that start `pitch` bytes apart.
inline hipError_t hipMemset2DAsync(void* destination,
                                   std::size_t pitch,
                                   int value,
                                   std::size_t width,
                                   std::size_t height,
                                   hipStream_t stream)
{
    if(width == 0 || height == 0 ||
       ck_tile::cuda_model::deferred_zeroing::of_thread().take({destination, pitch, width, height},
                                                               value))
    {
        return hipSuccess;
    }
    return cudaMemset2DAsync(destination, pitch, value, width, height, stream);
}

inline hipError_t hipStreamSynchronize(hipStream_t stream) { return cudaStreamSynchronize(stream); }

#else
#include_next "ck_tile/core/utility/hip_types.hpp"
#endif
