// SPDX-License-Identifier: MIT
// 8-bit operands on their way from memory to shared memory, where they are 16-bit ones.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/half_ptx.hpp"
#include "ck_tile/host_model/data_type.hpp"

namespace ck_tile::cuda_model {

namespace impl {

// The same 16 bits twice.
constexpr unsigned twice(unsigned bits) { return bits | (bits << 16); }

// Puts the quiet NaN `nan` into the halves whose byte of `codes` is a NaN's, by is_nan.
template <typename IsNan>
__device__ __forceinline__ unsigned
with_nan(unsigned values, unsigned codes, unsigned nan, const IsNan& is_nan)
{
    if(is_nan(codes & 0xffu)) { values = (values & 0xffff0000u) | nan; }
    if(is_nan(codes >> 16)) { values = (values & 0xffffu) | (nan << 16); }
    return values;
}

} // namespace impl

// The codes in the two low bytes as two elements of the type in shared memory. Sign, exponent and
// fraction are moved to where that type has them; a product with a power of two makes up for the
// difference of the biases, for subnormals too.
template <host_model::data_type Type, host_model::data_type Shared>
__device__ __forceinline__ unsigned decode_pair(unsigned two)
{
    using host_model::data_type;
    const unsigned codes = (two & 0xffu) | ((two & 0xff00u) << 8);
    const unsigned signs = (codes & 0x00800080u) << 8;
    const unsigned rest  = codes & 0x007f007fu;
    if constexpr(Type == data_type::int8)
    {
        // 1024 + 128 + value has the value in its fraction.
        return subtract_half2((codes ^ 0x00800080u) | 0x64006400u, impl::twice(0x6480));
    }
    else if constexpr(Type == data_type::bf8_ocp) { return signs | (rest << 8); }
    else if constexpr(Type == data_type::bf8_fnuz)
    {
        static_assert(Shared == data_type::bf16);
        // 2^(127 - 16)
        const unsigned bits = multiply_bfloat2(signs | (rest << 5), impl::twice(0x7700));
        return impl::with_nan(bits, codes, 0x7fc0u, [](unsigned code) { return code == 0x80u; });
    }
    else if constexpr(Type == data_type::fp8_fnuz && Shared == data_type::bf16)
    {
        // 2^(127 - 8)
        const unsigned bits = multiply_bfloat2(signs | (rest << 4), impl::twice(0x7b00));
        return impl::with_nan(bits, codes, 0x7fc0u, [](unsigned code) { return code == 0x80u; });
    }
    else
    {
        static_assert(Shared == data_type::fp16);
        constexpr bool ocp = Type == data_type::fp8_ocp;
        static_assert(ocp || Type == data_type::fp8_fnuz);
        // 2^(15 - 7) or 2^(15 - 8)
        const unsigned values =
            multiply_half2(signs | (rest << 7), impl::twice(ocp ? 0x5c00 : 0x5800));
        return impl::with_nan(values, codes, 0x7e00u, [](unsigned code) {
            return ocp ? (code & 0x7fu) == 0x7fu : code == 0x80u;
        });
    }
}

// Copies Count elements to shared memory, or writes zeros if the source is null. Done when the
// function returns. Of 16, the second half takes the 16-byte unit that operand_layout puts beside
// that of the first.
template <host_model::data_type Type, host_model::data_type Shared, int Count>
__device__ __forceinline__ void copy_decoded(std::uint32_t destination, const std::uint8_t* source)
{
    constexpr int words = Count < 4 ? 1 : Count / 4;
    std::uint32_t codes[words];
    unsigned pairs[words * 2];
#pragma unroll
    for(int i = 0; i < words; ++i) { codes[i] = 0; }
    if(source != nullptr)
    {
        if constexpr(Count == 16)
        {
            const uint4 all = __ldg(reinterpret_cast<const uint4*>(source));
            codes[0]        = all.x;
            codes[1]        = all.y;
            codes[2]        = all.z;
            codes[3]        = all.w;
        }
        else if constexpr(Count == 8)
        {
            const uint2 all = __ldg(reinterpret_cast<const uint2*>(source));
            codes[0]        = all.x;
            codes[1]        = all.y;
        }
        else if constexpr(Count == 4)
        {
            codes[0] = __ldg(reinterpret_cast<const unsigned*>(source));
        }
        else if constexpr(Count == 2)
        {
            codes[0] = __ldg(reinterpret_cast<const unsigned short*>(source));
        }
        else
        {
            codes[0] = __ldg(source);
        }
    }
#pragma unroll
    for(int i = 0; i < words; ++i)
    {
        pairs[i * 2]     = decode_pair<Type, Shared>(codes[i] & 0xffffu);
        pairs[i * 2 + 1] = decode_pair<Type, Shared>(codes[i] >> 16);
    }
    if constexpr(Count == 1)
    {
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(destination),
                     "h"(static_cast<std::uint16_t>(pairs[0]))
                     : "memory");
    }
    else if constexpr(Count == 2)
    {
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(destination), "r"(pairs[0]) : "memory");
    }
    else if constexpr(Count == 4)
    {
        asm volatile(
            "st.shared.v2.u32 [%0], {%1, %2};" ::"r"(destination), "r"(pairs[0]), "r"(pairs[1])
            : "memory");
    }
    else
    {
#pragma unroll
        for(int i = 0; i < Count / 8; ++i)
        {
            asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(destination ^ (i * 16)),
                         "r"(pairs[i * 4]),
                         "r"(pairs[i * 4 + 1]),
                         "r"(pairs[i * 4 + 2]),
                         "r"(pairs[i * 4 + 3])
                         : "memory");
        }
    }
}

} // namespace ck_tile::cuda_model
