// SPDX-License-Identifier: MIT
// Convolutions by definition, in double precision, one loop per index.
#pragma once

#include <cstdint>
#include <vector>

#include "ck_tile/host_model/conv_shape.hpp"

namespace test {

using ck_tile::host_model::conv_shape;
using ck_tile::host_model::volume;

inline std::size_t input_size(const conv_shape& s)
{ return static_cast<std::size_t>(s.G * s.N * s.C * volume(s.input)); }
inline std::size_t weight_size(const conv_shape& s)
{ return static_cast<std::size_t>(s.G * s.K * s.C * volume(s.filter)); }
inline std::size_t output_size(const conv_shape& s)
{ return static_cast<std::size_t>(s.G * s.N * s.K * volume(s.output)); }

// Calls visit(input offset, weight offset, output offset) for every product of the convolution, in
// the packed layouts N[D][H]WGC, GK[Z][Y]XC, N[D][H]WGK.
template <typename Visit>
void for_each_product(const conv_shape& s, const Visit& visit)
{
    for(std::int64_t n = 0; n < s.N; ++n)
        for(std::int64_t o0 = 0; o0 < s.output[0]; ++o0)
            for(std::int64_t o1 = 0; o1 < s.output[1]; ++o1)
                for(std::int64_t o2 = 0; o2 < s.output[2]; ++o2)
                    for(std::int64_t f0 = 0; f0 < s.filter[0]; ++f0)
                        for(std::int64_t f1 = 0; f1 < s.filter[1]; ++f1)
                            for(std::int64_t f2 = 0; f2 < s.filter[2]; ++f2)
                            {
                                const std::int64_t i0 =
                                    o0 * s.stride[0] + f0 * s.dilation[0] - s.left_pad[0];
                                const std::int64_t i1 =
                                    o1 * s.stride[1] + f1 * s.dilation[1] - s.left_pad[1];
                                const std::int64_t i2 =
                                    o2 * s.stride[2] + f2 * s.dilation[2] - s.left_pad[2];
                                if(i0 < 0 || i0 >= s.input[0] || i1 < 0 || i1 >= s.input[1] ||
                                   i2 < 0 || i2 >= s.input[2])
                                {
                                    continue;
                                }
                                for(std::int64_t g = 0; g < s.G; ++g)
                                    for(std::int64_t k = 0; k < s.K; ++k)
                                        for(std::int64_t c = 0; c < s.C; ++c)
                                        {
                                            visit(
                                                static_cast<std::size_t>(
                                                    ((((n * s.input[0] + i0) * s.input[1] + i1) *
                                                          s.input[2] +
                                                      i2) *
                                                         s.G +
                                                     g) *
                                                        s.C +
                                                    c),
                                                static_cast<std::size_t>(
                                                    ((((g * s.K + k) * s.filter[0] + f0) *
                                                          s.filter[1] +
                                                      f1) *
                                                         s.filter[2] +
                                                     f2) *
                                                        s.C +
                                                    c),
                                                static_cast<std::size_t>(
                                                    ((((n * s.output[0] + o0) * s.output[1] + o1) *
                                                          s.output[2] +
                                                      o2) *
                                                         s.G +
                                                     g) *
                                                        s.K +
                                                    k));
                                        }
                            }
}

inline std::vector<double> reference_forward(const conv_shape& s,
                                             const std::vector<double>& in,
                                             const std::vector<double>& wei)
{
    std::vector<double> out(output_size(s), 0.0);
    for_each_product(
        s, [&](std::size_t i, std::size_t w, std::size_t o) { out[o] += in[i] * wei[w]; });
    return out;
}

inline std::vector<double> reference_backward_data(const conv_shape& s,
                                                   const std::vector<double>& wei,
                                                   const std::vector<double>& out)
{
    std::vector<double> in(input_size(s), 0.0);
    for_each_product(
        s, [&](std::size_t i, std::size_t w, std::size_t o) { in[i] += out[o] * wei[w]; });
    return in;
}

inline std::vector<double> reference_backward_weight(const conv_shape& s,
                                                     const std::vector<double>& in,
                                                     const std::vector<double>& out)
{
    std::vector<double> wei(weight_size(s), 0.0);
    for_each_product(
        s, [&](std::size_t i, std::size_t w, std::size_t o) { wei[w] += out[o] * in[i]; });
    return wei;
}

} // namespace test
