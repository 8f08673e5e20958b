// SPDX-License-Identifier: MIT
// Element-wise functors.
#pragma once

#include "ck_tile/core/numeric/type_convert.hpp"

namespace ck_tile::element_wise {

struct PassThrough
{
    static constexpr const char* name = "PassThrough";

    template <typename Y, typename X>
    constexpr void operator()(Y& y, const X& x) const
    { y = type_convert<Y>(x); }
};

struct UnaryConvert
{
    static constexpr const char* name = "UnaryConvert";

    template <typename Y, typename X>
    constexpr void operator()(Y& y, const X& x) const
    { y = type_convert<Y>(x); }
};

} // namespace ck_tile::element_wise
