// SPDX-License-Identifier: MIT
// Helpers of integers, and of floating-point numbers the larger and the smaller of two.
#pragma once

#include <type_traits>

#include "ck_tile/core/config.hpp"

namespace ck_tile {

// Quotient rounded up for non-negative numerators; plain C++ truncation otherwise.
template <typename X, typename Y>
constexpr auto integer_divide_ceil(X x, Y y)
{ return (x + y - 1) / y; }

template <typename X, typename Y>
constexpr auto integer_least_multiple(X x, Y y)
{ return y * integer_divide_ceil(x, y); }

// On a GPU one instruction, which the condition is not: that answers NaN where y is, and y where
// both are zeros. Where x alone is NaN, y is the answer of either.
template <typename T>
CK_TILE_HOST_DEVICE constexpr T max(T x, T y)
{
#if defined(__CUDA_ARCH__)
    if constexpr(std::is_same_v<T, float>)
    {
        if(!std::is_constant_evaluated()) { return fmaxf(x, y); }
    }
#endif
    return x > y ? x : y;
}

template <typename T>
CK_TILE_HOST_DEVICE constexpr T min(T x, T y)
{
#if defined(__CUDA_ARCH__)
    if constexpr(std::is_same_v<T, float>)
    {
        if(!std::is_constant_evaluated()) { return fminf(x, y); }
    }
#endif
    return x < y ? x : y;
}

} // namespace ck_tile
