// SPDX-License-Identifier: MIT
// 8-bit operands as the bf16 that they become, on the host, by the definition of their encoding.
#pragma once

#include <cstdint>
#include <cstring>

#include "lanes.hpp"

#include "ck_tile/core/numeric/bfloat16.hpp"
#include "ck_tile/cuda_model/float8_formats.hpp"

namespace ck_tile::cuda_model {

template <host_model::data_type Type, host_model::data_type Shared, int Count>
void copy_decoded(std::uint32_t destination, const std::uint8_t* source)
{
    static_assert(Shared == host_model::data_type::bf16);
    if(source != nullptr && !emulated::may_read(source, Count)) { std::abort(); }
    for(int i = 0; i < Count; ++i)
    {
        const float value =
            source == nullptr ? 0.f : float8_bits_to_float<float8_encoding<Type>>(source[i]);
        const std::uint16_t bits = float_to_bf16_bits(value, bf16_rounding_mode::standard);
        // The second 16 bytes take the place beside that of the first.
        const std::uint32_t at = (destination ^ (static_cast<unsigned>(i / 8) * 16)) + i % 8 * 2u;
        std::memcpy(shared + at, &bits, sizeof(bits));
    }
}

} // namespace ck_tile::cuda_model
