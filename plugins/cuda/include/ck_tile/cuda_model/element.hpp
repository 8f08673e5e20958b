// SPDX-License-Identifier: MIT
// Elements of tensors in device code: storage, conversion from float, addition to memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ck_tile/cuda_model/float8_formats.hpp"
#include "ck_tile/cuda_model/half_ptx.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"

namespace ck_tile::cuda_model {

template <host_model::data_type Type>
struct stored
{
    using type = std::conditional_t<host_model::size_of(Type) == 1, std::uint8_t, std::uint16_t>;
};
template <>
struct stored<host_model::data_type::fp32>
{
    using type = float;
};
// Rounded on the way to the tensor cores.
template <>
struct stored<host_model::data_type::tf32>
{
    using type = float;
};
template <>
struct stored<host_model::data_type::int32>
{
    using type = int;
};
template <host_model::data_type Type>
using stored_t = typename stored<Type>::type;

// The rounding of bfloat16 is the modelled device's, as on every target.
template <host_model::data_type Type, bf16_rounding_mode Rounding>
__device__ __forceinline__ stored_t<Type> narrow(float value)
{
    if constexpr(Type == host_model::data_type::fp32) { return value; }
    else if constexpr(Type == host_model::data_type::fp16) { return half_bits(value); }
    else if constexpr(Type == host_model::data_type::int32) { return static_cast<int>(value); }
    else if constexpr(Type == host_model::data_type::int8)
    {
        // The low 8 bits of a whole number.
        return static_cast<std::uint8_t>(static_cast<int>(value));
    }
    else if constexpr(host_model::size_of(Type) == 1)
    {
        return float_to_float8_bits<float8_encoding<Type>>(value);
    }
    else if constexpr(Rounding == bf16_rounding_mode::standard) { return bfloat_bits(value); }
    else
    {
        return float_to_bf16_bits(value, Rounding);
    }
}

template <host_model::data_type Type>
__device__ __forceinline__ float widen(stored_t<Type> value)
{
    if constexpr(Type == host_model::data_type::fp32) { return value; }
    else if constexpr(Type == host_model::data_type::int32) { return static_cast<float>(value); }
    else if constexpr(Type == host_model::data_type::fp16) { return half_value(value); }
    else if constexpr(Type == host_model::data_type::int8)
    {
        return static_cast<float>(static_cast<std::int8_t>(value));
    }
    else if constexpr(host_model::size_of(Type) == 1)
    {
        return float8_bits_to_float<float8_encoding<Type>>(value);
    }
    else
    {
        static_assert(Type == host_model::data_type::bf16);
        return __uint_as_float(static_cast<unsigned>(value) << 16);
    }
}

// Two neighbouring elements of 16 bits, the first in the low half.
template <host_model::data_type Type, bf16_rounding_mode Rounding>
__device__ __forceinline__ std::uint32_t narrow_pair(float low, float high)
{
    if constexpr(Type == host_model::data_type::bf16 && Rounding == bf16_rounding_mode::standard)
    {
        return bfloat2_bits(low, high);
    }
    else if constexpr(Type == host_model::data_type::fp16) { return half2_bits(low, high); }
    else
    {
        return std::uint32_t{narrow<Type, Rounding>(low)} |
               (std::uint32_t{narrow<Type, Rounding>(high)} << 16);
    }
}

template <host_model::data_type Type, bf16_rounding_mode Rounding, int Count>
__device__ __forceinline__ void narrow_all(const float (&values)[Count],
                                           stored_t<Type> (&results)[Count])
{
    if constexpr(sizeof(stored_t<Type>) == 2 && Count % 2 == 0)
    {
#pragma unroll
        for(int i = 0; i < Count; i += 2)
        {
            const std::uint32_t pair = narrow_pair<Type, Rounding>(values[i], values[i + 1]);
            memcpy(results + i, &pair, sizeof(pair));
        }
    }
    else
    {
#pragma unroll
        for(int i = 0; i < Count; ++i) { results[i] = narrow<Type, Rounding>(values[i]); }
    }
}

// Neighbouring elements, at a multiple of 4 bytes if there is more than one.
template <host_model::data_type Type, int Count>
__device__ __forceinline__ void widen_all(const stored_t<Type> (&values)[Count],
                                          float (&results)[Count])
{
    if constexpr(Type == host_model::data_type::bf16 && Count % 2 == 0)
    {
#pragma unroll
        for(int i = 0; i < Count; i += 2)
        {
            std::uint32_t pair;
            memcpy(&pair, values + i, sizeof(pair));
            results[i]     = __uint_as_float(pair << 16);
            results[i + 1] = __uint_as_float(pair & 0xffff0000u);
        }
    }
    else
    {
#pragma unroll
        for(int i = 0; i < Count; ++i) { results[i] = widen<Type>(values[i]); }
    }
}

// Of memory that nothing writes while the kernel runs.
template <typename Value>
__device__ __forceinline__ Value read_only(const Value* from)
{ return __ldg(from); }

// Adds Count neighbouring elements to memory, each atomically. The sum of 16-bit types is rounded
// to nearest by the hardware.
template <host_model::data_type Type, int Count>
__device__ __forceinline__ void add_to_memory(stored_t<Type>* destination,
                                              const stored_t<Type>* values)
{
    if constexpr(host_model::size_of(Type) == 4)
    {
#pragma unroll
        for(int i = 0; i < Count; ++i) { atomicAdd(destination + i, values[i]); }
    }
    else
    {
        constexpr bool half = Type == host_model::data_type::fp16;
        if constexpr(Count % 2 == 0)
        {
#pragma unroll
            for(int i = 0; i < Count; i += 2)
            {
                std::uint32_t pair;
                memcpy(&pair, values + i, sizeof(pair));
                if constexpr(half) { add_half2(destination + i, pair); }
                else
                {
                    add_bfloat2(destination + i, pair);
                }
            }
        }
        else
        {
#pragma unroll
            for(int i = 0; i < Count; ++i)
            {
                std::uint16_t value;
                memcpy(&value, values + i, sizeof(value));
                if constexpr(half) { add_half(destination + i, value); }
                else
                {
                    add_bfloat(destination + i, value);
                }
            }
        }
    }
}

template <int Bytes>
struct raw_vector;
template <>
struct raw_vector<1>
{
    using type = std::uint8_t;
};
template <>
struct raw_vector<2>
{
    using type = std::uint16_t;
};
template <>
struct raw_vector<4>
{
    using type = std::uint32_t;
};
template <>
struct raw_vector<8>
{
    using type = uint2;
};
template <>
struct raw_vector<16>
{
    using type = uint4;
};

} // namespace ck_tile::cuda_model
