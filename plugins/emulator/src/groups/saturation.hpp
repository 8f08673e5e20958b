// SPDX-License-Identifier: MIT
// Integers whose results saturate if the instruction says so: computed in 64 bits, then cut to the
// type of the result, or clamped to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "groups/vector.hpp"
#include "isa/instruction.hpp"

namespace ckprof::emulator {

template <typename T>
constexpr T saturated(int64_t value)
{
    return static_cast<T>(
        std::clamp<int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

namespace detail {

template <typename T>
struct Number
{
    using Type = T;
};
template <typename T>
struct Number<Kept<T>>
{
    using Type = T;
};

} // namespace detail

// R: result, T: sources, C: third source; `exact` is on integers of 64 bits.
template <typename R, typename T, auto exact>
constexpr Handler saturating2 =
    &lanewise<[](T a, T b) {
        return R{static_cast<typename detail::Number<R>::Type>(exact(a, b))};
    },
              [](T a, T b) { return R{saturated<typename detail::Number<R>::Type>(exact(a, b))}; }>;

template <typename R, typename T, typename C, auto exact>
constexpr Handler saturating3 = &lanewise<
    [](T a, T b, C c) { return R{static_cast<typename detail::Number<R>::Type>(exact(a, b, c))}; },
    [](T a, T b, C c) { return R{saturated<typename detail::Number<R>::Type>(exact(a, b, c))}; }>;

} // namespace ckprof::emulator
