// SPDX-License-Identifier: MIT
// Division by a number that is known before the launch: one multiplication and a shift.
#pragma once

#include <cstdint>

namespace ck_tile::cuda_model {

// For numerators below 2^31 and divisors from 1 to 2^31 - 1. With s = ceil(log2 d) and
// m = floor(2^32 (2^s - d) / d) + 1, n / d = (floor(n m / 2^32) + n) >> s.
struct fast_divisor
{
    std::uint32_t divisor;
    std::uint32_t multiplier;
    std::uint32_t shift;

    constexpr int quotient(int numerator) const
    {
        const auto n = static_cast<std::uint32_t>(numerator);
#if defined(__CUDA_ARCH__)
        const std::uint32_t high = __umulhi(n, multiplier);
#else
        const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * multiplier) >> 32);
#endif
        return static_cast<int>((high + n) >> shift);
    }

    constexpr int remainder(int numerator, int quotient_of_it) const
    { return numerator - quotient_of_it * static_cast<int>(divisor); }
};

constexpr fast_divisor make_fast_divisor(std::int64_t value)
{
    const auto d        = static_cast<std::uint64_t>(value < 1 ? 1 : value);
    std::uint32_t shift = 0;
    while((std::uint64_t{1} << shift) < d) { ++shift; }
    const std::uint64_t m = (((std::uint64_t{1} << shift) - d) << 32) / d + 1;
    return {static_cast<std::uint32_t>(d), static_cast<std::uint32_t>(m), shift};
}

} // namespace ck_tile::cuda_model
