// SPDX-License-Identifier: MIT
// Conversion between element types, always by way of float for the 16-bit types.
#pragma once

#include <type_traits>

#include "ck_tile/core/numeric/bfloat16.hpp"
#include "ck_tile/core/numeric/half.hpp"

namespace ck_tile {

template <typename Y, typename X>
constexpr Y type_convert(X x)
{
    if constexpr(sizeof(X) == 2 && sizeof(Y) == 2 && !std::is_same_v<X, Y>)
    {
        return static_cast<Y>(static_cast<float>(x));
    }
    else
    {
        return static_cast<Y>(x);
    }
}

} // namespace ck_tile
