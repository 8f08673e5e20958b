// SPDX-License-Identifier: MIT
// Seeded random problems, and some that are always tried.
#pragma once

#include <random>
#include <vector>

#include "ck_tile/host.hpp"

namespace test {

inline std::mt19937 random_bits(20260601);

inline int pick(int low, int high)
{ return std::uniform_int_distribution<int>(low, high)(random_bits); }

using lengths = std::vector<ck_tile::long_index_t>;

inline ck_tile::conv::ConvParam random_problem(int dimensions, int kind)
{
    const auto many = [&](int low, int high) {
        lengths values;
        for(int i = 0; i < dimensions; ++i) { values.push_back(pick(low, high)); }
        return values;
    };
    const bool pointwise = kind == 1;
    const bool merged    = kind == 2; // C = 1 and many groups
    const bool fixed3    = kind == 3;
    lengths filter       = pointwise ? many(1, 1) : fixed3 || merged ? many(3, 3) : many(1, 4);
    lengths left         = pointwise ? many(0, 0) : many(0, 3);
    lengths right        = pointwise ? many(0, 0) : many(0, 3);
    lengths stride       = pointwise && pick(0, 1) != 0 ? many(1, 1) : many(1, 3);
    const int widest     = dimensions == 1 ? 40 : dimensions == 2 ? 14 : 7;
    return ck_tile::conv::ConvParam(dimensions,
                                    merged || fixed3 ? 8 * pick(1, 2) : pick(1, 3),
                                    pick(1, 3),
                                    pick(0, 1) != 0 ? 4 * pick(1, 20) : pick(1, 70),
                                    merged || fixed3  ? 1
                                    : pick(0, 1) != 0 ? 4 * pick(1, 9)
                                                      : pick(1, 37),
                                    filter,
                                    many(1, widest),
                                    stride,
                                    many(1, 2),
                                    left,
                                    right);
}

// Cases that must not depend on luck: the first problems of every run.
inline std::vector<ck_tile::conv::ConvParam> chosen_problems(int dimensions)
{
    const auto make = [dimensions](int g,
                                   int n,
                                   int k,
                                   int c,
                                   int filter,
                                   int image,
                                   int stride,
                                   int dilation,
                                   int left,
                                   int right) {
        const auto many = [dimensions](int value) {
            return lengths(static_cast<std::size_t>(dimensions), value);
        };
        return ck_tile::conv::ConvParam(dimensions,
                                        g,
                                        n,
                                        k,
                                        c,
                                        many(filter),
                                        many(image),
                                        many(stride),
                                        many(dilation),
                                        many(left),
                                        many(right));
    };
    return {
        make(1, 2, 68, 20, 3, 6, 1, 1, 1, 1), // supported by all Default kernels
        make(2, 1, 8, 4, 3, 5, 2, 1, 0, 2),   // pads that differ
        make(1, 1, 7, 13, 3, 7, 1, 2, 2, 2),  // odd channels, dilation
        make(3, 1, 5, 3, 4, 2, 1, 1, 1, 2),   // filter larger than the input
        make(1, 2, 16, 8, 3, 3, 1, 1, 0, 0),  // output size 1
        make(16, 1, 4, 1, 3, 4, 1, 1, 1, 1),  // groups to merge
        make(2, 2, 12, 8, 1, 5, 1, 1, 0, 0),  // 1x1
        make(1, 1, 4, 36, 1, 7, 3, 1, 0, 0),  // 1x1 with stride
        make(1, 1, 33, 1, 2, 9, 3, 3, 1, 0),  // stride larger than the filter
        make(1, 1, 4, 4, 2, 3, 2, 1, 5, 5),   // windows wholly in the padding
    };
}

} // namespace test
