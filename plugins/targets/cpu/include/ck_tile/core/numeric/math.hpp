// SPDX-License-Identifier: MIT
// Integer helpers.
#pragma once

namespace ck_tile {

// Quotient rounded up for non-negative numerators; plain C++ truncation otherwise.
template <typename X, typename Y>
constexpr auto integer_divide_ceil(X x, Y y)
{ return (x + y - 1) / y; }

template <typename X, typename Y>
constexpr auto integer_least_multiple(X x, Y y)
{ return y * integer_divide_ceil(x, y); }

} // namespace ck_tile
