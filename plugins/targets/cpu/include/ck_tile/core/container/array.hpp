// SPDX-License-Identifier: MIT
// Fixed-size array that is an aggregate and can be passed to kernels by value.
#pragma once

#include "ck_tile/core/numeric/integer.hpp"

namespace ck_tile {

template <typename T, index_t N>
struct array
{
    using value_type = T;
    T data[N > 0 ? N : 1];

    static constexpr index_t size() { return N; }
    constexpr T& operator[](index_t i) { return data[i]; }
    constexpr const T& operator[](index_t i) const { return data[i]; }
    constexpr T* begin() { return data; }
    constexpr T* end() { return data + N; }
    constexpr const T* begin() const { return data; }
    constexpr const T* end() const { return data + N; }
};

} // namespace ck_tile
