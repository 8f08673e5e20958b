// SPDX-License-Identifier: MIT
// Type lists that can also carry values.
#pragma once

#include <tuple>

#include "ck_tile/core/numeric/integer.hpp"

namespace ck_tile {

template <typename... Ts>
struct tuple : std::tuple<Ts...>
{
    using base = std::tuple<Ts...>;
    using base::base;
    static constexpr index_t size() { return static_cast<index_t>(sizeof...(Ts)); }
};

template <>
struct tuple<>
{
    using base = std::tuple<>;
    static constexpr index_t size() { return 0; }
};

template <typename... Ts>
constexpr tuple<std::decay_t<Ts>...> make_tuple(Ts&&... values)
{ return tuple<std::decay_t<Ts>...>(static_cast<Ts&&>(values)...); }

} // namespace ck_tile
