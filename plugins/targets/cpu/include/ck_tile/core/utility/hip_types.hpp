// SPDX-License-Identifier: MIT
// The few HIP names that generated kernels and their launchers mention, with CPU meaning:
// memory is ordinary memory, every stream is synchronous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ck_tile/host_model/sampling.hpp"

struct dim3
{
    std::uint32_t x, y, z;
    constexpr dim3(std::uint32_t x_ = 1, std::uint32_t y_ = 1, std::uint32_t z_ = 1)
        : x(x_),
          y(y_),
          z(z_)
    {}
};

using hipStream_t = struct ihipStream_t*;

enum hipError_t
{
    hipSuccess           = 0,
    hipErrorInvalidValue = 1
};

inline const char* hipGetErrorString(hipError_t error)
{ return error == hipSuccess ? "no error" : "invalid argument"; }

inline hipError_t hipMemsetAsync(void* destination, int value, std::size_t bytes, hipStream_t)
{
    if(bytes == 0) { return hipSuccess; }
    if(destination == nullptr) { return hipErrorInvalidValue; }
    if(ck_tile::host_model::current_sampling().is_noted()) { return hipSuccess; }
    std::memset(destination, value, bytes);
    return hipSuccess;
}

// `height` rows of `width` bytes that start `pitch` bytes apart.
inline hipError_t hipMemset2DAsync(void* destination,
                                   std::size_t pitch,
                                   int value,
                                   std::size_t width,
                                   std::size_t height,
                                   hipStream_t)
{
    if(width == 0 || height == 0) { return hipSuccess; }
    if(destination == nullptr || pitch < width) { return hipErrorInvalidValue; }
    if(ck_tile::host_model::current_sampling().is_noted()) { return hipSuccess; }
    for(std::size_t row = 0; row < height; ++row)
    {
        std::memset(static_cast<char*>(destination) + row * pitch, value, width);
    }
    return hipSuccess;
}

inline hipError_t hipStreamSynchronize(hipStream_t) { return hipSuccess; }
