// SPDX-License-Identifier: MIT
// Compile-time integer lists.
#pragma once

#include "ck_tile/core/numeric/integral_constant.hpp"

namespace ck_tile {

template <index_t... Is>
struct sequence
{
    static constexpr index_t size() { return static_cast<index_t>(sizeof...(Is)); }

    static constexpr index_t at(index_t position)
    {
        constexpr index_t values[] = {Is..., 0};
        return values[position];
    }

    template <index_t I>
    static constexpr auto at(number<I>)
    {
        static_assert(0 <= I && I < static_cast<index_t>(sizeof...(Is)),
                      "sequence index out of range");
        return number<at(I)>{};
    }

    static constexpr index_t product() { return (index_t{1} * ... * Is); }
};

} // namespace ck_tile
