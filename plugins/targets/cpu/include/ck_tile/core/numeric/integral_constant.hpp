// SPDX-License-Identifier: MIT
// Compile-time constants as values.
#pragma once

#include "ck_tile/core/numeric/integer.hpp"

namespace ck_tile {

template <auto V>
struct constant
{
    using value_type                  = decltype(V);
    using type                        = constant;
    static constexpr value_type value = V;
    constexpr operator value_type() const noexcept { return value; }
    constexpr value_type operator()() const noexcept { return value; }
};

template <typename T, T V>
struct integral_constant : constant<V>
{};

template <bool V>
using bool_constant = constant<V>;

template <index_t V>
using number = constant<V>;

using true_type  = bool_constant<true>;
using false_type = bool_constant<false>;

} // namespace ck_tile
