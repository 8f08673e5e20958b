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

// The result of a product and further tensors of its shape, in float and rounded once.
struct MultiDAdd
{
    static constexpr const char* name = "MultiDAdd";

    template <typename E, typename C, typename... Ds>
    constexpr void operator()(E& e, const C& c, const Ds&... ds) const
    { e = type_convert<E>((type_convert<float>(c) + ... + type_convert<float>(ds))); }
};

struct MultiDMultiply
{
    static constexpr const char* name = "MultiDMultiply";

    template <typename E, typename C, typename... Ds>
    constexpr void operator()(E& e, const C& c, const Ds&... ds) const
    { e = type_convert<E>((type_convert<float>(c) * ... * type_convert<float>(ds))); }
};

} // namespace ck_tile::element_wise
