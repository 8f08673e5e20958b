// SPDX-License-Identifier: MIT
// Operations that fp16, fp32 and fp64 have in common; fp16 values are computed with as fp32.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/wave.hpp"

namespace ckprof::emulator {

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T>
constexpr unsigned fraction_bits = sizeof(T) == 8 ? 52 : 23;

template <typename T>
bool is_nan(T value)
{ return value != value; }

template <typename T>
T quieted(T value)
{
    constexpr BitsOf<T> quiet = BitsOf<T>{1} << (fraction_bits<T> - 1);
    return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(value) | quiet);
}

template <typename T>
bool is_signalling(T value)
{
    constexpr BitsOf<T> quiet = BitsOf<T>{1} << (fraction_bits<T> - 1);
    return is_nan(value) && (std::bit_cast<BitsOf<T>>(value) & quiet) == 0;
}

template <typename T>
bool is_negative(T value)
{ return (std::bit_cast<BitsOf<T>>(value) >> (8 * sizeof(T) - 1)) != 0; }

// NaN loses against numbers, but for signalling NaN in IEEE mode; -0 is less than +0.
template <bool largest, bool ieee, typename T>
T extreme(T a, T b)
{
    const bool less   = a < b || (a == b && is_negative(a));
    const bool better = largest ? !less : less;
    T result          = (better || is_nan(b)) && !is_nan(a) ? a : b;
    if constexpr(ieee)
    {
        result = is_signalling(b) ? quieted(b) : result;
        result = is_signalling(a) ? quieted(a) : result;
    }
    return result;
}

template <bool largest, bool ieee, typename T>
T extreme3(T a, T b, T c)
{ return extreme<largest, ieee>(extreme<largest, ieee>(a, b), c); }

template <bool ieee, typename T>
T median(T a, T b, T c)
{
    if(is_nan(a) || is_nan(b) || is_nan(c)) return extreme3<false, ieee>(a, b, c);
    const T most = extreme3<true, ieee>(a, b, c);
    if(most == a) return extreme<true, ieee>(b, c);
    if(most == b) return extreme<true, ieee>(a, c);
    return extreme<true, ieee>(a, b);
}

// minimum and maximum of IEEE 754-2019: NaN wins.
template <bool largest, typename T>
T extreme_2019(T a, T b)
{
    if(is_nan(a)) return quieted(a);
    if(is_nan(b)) return quieted(b);
    return extreme<largest, false>(a, b);
}

template <bool largest, typename T>
T extreme3_2019(T a, T b, T c)
{ return extreme_2019<largest>(extreme_2019<largest>(a, b), c); }

// Below 1 also where the difference rounds to it; `below_one`: the number before 1.
template <typename T>
T fraction_of(T value, T below_one)
{
    const T difference = value - std::floor(value);
    return difference > below_one ? below_one : difference;
}

// A significand from 0.5 on and below 1, and its exponent; zeros, infinities and NaN have 0.
template <typename T>
T significand_of(T value)
{
    int exponent = 0;
    return std::isfinite(value) ? std::frexp(value, &exponent) : value;
}
template <typename T>
int32_t exponent_of(T value)
{
    int exponent = 0;
    if(std::isfinite(value)) std::frexp(value, &exponent);
    return exponent;
}

// An operation that depends on IEEE mode, as two handlers of which the mode chooses one.
template <void (*with_ieee)(Wave&, const Instruction&), void (*without)(Wave&, const Instruction&)>
void by_ieee_mode(Wave& wave, const Instruction& i)
{ (wave.mode.ieee ? with_ieee : without)(wave, i); }

} // namespace ckprof::emulator
