// SPDX-License-Identifier: MIT
// Matrices of any element type in memory that is exactly as large as their strides say.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "ck_tile/core.hpp"

namespace test {

template <typename T>
T converted(double value)
{
    if constexpr(std::is_integral_v<T>) { return static_cast<T>(value); }
    else
    {
        return T(static_cast<float>(value));
    }
}

template <typename T>
double as_double(T value)
{
    if constexpr(std::is_integral_v<T>) { return static_cast<double>(value); }
    else
    {
        return static_cast<double>(static_cast<float>(value));
    }
}

// A matrix in memory; `line` is the row of a row-major one.
template <typename T>
struct matrix
{
    matrix(ck_tile::index_t rows,
           ck_tile::index_t columns,
           bool row_major,
           ck_tile::index_t stride_,
           T gap)
        : row(row_major),
          stride(stride_),
          run(row_major ? columns : rows),
          data(static_cast<std::size_t>((row_major ? rows : columns) - 1) *
                       static_cast<std::size_t>(stride_) +
                   static_cast<std::size_t>(run),
               gap)
    {}

    T& at(ck_tile::index_t i, ck_tile::index_t j)
    {
        const auto line = static_cast<std::size_t>(row ? i : j);
        return data[line * static_cast<std::size_t>(stride) +
                    static_cast<std::size_t>(row ? j : i)];
    }

    bool row;
    ck_tile::index_t stride, run;
    std::vector<T> data;
};

} // namespace test
