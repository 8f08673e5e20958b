// SPDX-License-Identifier: MIT
// The values of 8-bit element types, all by the same way: a table of their codes.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "ck_tile/core/numeric/float8.hpp"
#include "ck_tile/host_model/data_type.hpp"

namespace ck_tile::host_model::impl {

using code_values = std::array<float, 256>;

template <typename Value>
constexpr code_values tabulate(Value value)
{
    code_values values{};
    for(unsigned code = 0; code < values.size(); ++code)
    {
        values[code] = value(static_cast<std::uint8_t>(code));
    }
    return values;
}

template <typename Format>
inline constexpr code_values float8_values = tabulate(&float8_bits_to_float<Format>);

inline constexpr code_values int8_values =
    tabulate([](std::uint8_t code) { return static_cast<float>(static_cast<std::int8_t>(code)); });

inline const code_values& values_of_codes(data_type type)
{
    switch(type)
    {
    case data_type::fp8_fnuz: return float8_values<e4m3_fnuz>;
    case data_type::bf8_fnuz: return float8_values<e5m2_fnuz>;
    case data_type::fp8_ocp: return float8_values<e4m3_ocp>;
    case data_type::bf8_ocp: return float8_values<e5m2_ocp>;
    case data_type::int8: return int8_values;
    default: throw std::logic_error("not an 8-bit type");
    }
}

// Lines of codes, `stride` bytes apart, as consecutive lines of floats.
inline const float* decode_lines(data_type type,
                                 const std::uint8_t* first,
                                 std::int64_t stride,
                                 std::int64_t lines,
                                 std::int64_t run,
                                 std::vector<float>& decoded)
{
    const code_values& values = values_of_codes(type);
    decoded.resize(static_cast<std::size_t>(lines * run));
    float* to = decoded.data();
    for(std::int64_t line = 0; line < lines; ++line)
    {
        const std::uint8_t* const from = first + line * stride;
        for(std::int64_t i = 0; i < run; ++i) { *to++ = values[from[i]]; }
    }
    return decoded.data();
}

} // namespace ck_tile::host_model::impl
