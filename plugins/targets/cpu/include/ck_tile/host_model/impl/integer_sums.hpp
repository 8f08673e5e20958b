// SPDX-License-Identifier: MIT
// Sums of products of 8-bit integers, exact modulo 2^32, by way of float accumulators.
#pragma once

#include <cstdint>
#include <vector>

#include "ck_tile/host_model/impl/tile_gemm.hpp"

namespace ck_tile::host_model::impl {

// A float holds integers up to 2^24 exactly, so the products of this many pairs, each at most 2^14.
inline constexpr std::int64_t exact_depth = 1024;

class integer_sums
{
public:
    void start(std::int64_t rows, std::int64_t columns)
    {
        rows_    = rows;
        columns_ = columns;
        sums_.assign(static_cast<std::size_t>(rows * columns), 0);
    }

    // Moves the accumulators of a tile to the sums.
    void take(tile_gemm& gemm)
    {
        for(std::int64_t i = 0; i < rows_; ++i)
        {
            float* const from        = gemm.result_row(i);
            std::uint32_t* const sum = sums_.data() + i * columns_;
            for(std::int64_t j = 0; j < columns_; ++j)
            {
                sum[j] += static_cast<std::uint32_t>(static_cast<std::int32_t>(from[j]));
            }
            zero_run(from, gemm.columns());
        }
    }

    std::int32_t at(std::int64_t row, std::int64_t column) const
    { return static_cast<std::int32_t>(sums_[static_cast<std::size_t>(row * columns_ + column)]); }

    const std::int32_t* row(std::int64_t row) const
    { return reinterpret_cast<const std::int32_t*>(sums_.data() + row * columns_); }

private:
    std::int64_t rows_ = 0, columns_ = 0;
    std::vector<std::uint32_t> sums_;
};

inline integer_sums& thread_integer_sums()
{
    static thread_local integer_sums sums;
    return sums;
}

} // namespace ck_tile::host_model::impl
