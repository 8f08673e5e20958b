// SPDX-License-Identifier: MIT
// Elements of the types that the tests use, on the host.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "ck_tile/core/numeric/bfloat16.hpp"
#include "ck_tile/cuda_model/float8_formats.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"

#include "lanes.hpp"

struct uint2
{ unsigned x, y; };
struct uint4
{ unsigned x, y, z, w; };

namespace ck_tile::cuda_model {

template <host_model::data_type Type>
using stored_t =
    std::conditional_t<Type == host_model::data_type::bf16,
                       std::uint16_t,
                       std::conditional_t<host_model::size_of(Type) == 1, std::uint8_t, float>>;

template <host_model::data_type Type, bf16_rounding_mode Rounding>
stored_t<Type> narrow(float value)
{
    if constexpr(Type == host_model::data_type::bf16)
    {
        return float_to_bf16_bits(value, Rounding);
    }
    else if constexpr(host_model::size_of(Type) == 1)
    {
        return float_to_float8_bits<float8_encoding<Type>>(value);
    }
    else
    {
        return value;
    }
}

template <host_model::data_type Type>
float widen(stored_t<Type> value)
{
    if constexpr(Type == host_model::data_type::bf16) { return bf16_bits_to_float(value); }
    else
    {
        return value;
    }
}

template <host_model::data_type Type, bf16_rounding_mode Rounding, int Count>
void narrow_all(const float (&values)[Count], stored_t<Type> (&results)[Count])
{
    for(int i = 0; i < Count; ++i) { results[i] = narrow<Type, Rounding>(values[i]); }
}

template <host_model::data_type Type, int Count>
void widen_all(const stored_t<Type> (&values)[Count], float (&results)[Count])
{
    for(int i = 0; i < Count; ++i) { results[i] = widen<Type>(values[i]); }
}

// Vectors are read as such: at multiples of their size.
template <typename Value>
Value read_only(const Value* from)
{
    if(reinterpret_cast<std::uintptr_t>(from) % sizeof(Value) != 0 ||
       !emulated::may_read(from, sizeof(Value)))
    {
        std::abort();
    }
    Value value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

template <host_model::data_type Type, int Count>
void add_to_memory(stored_t<Type>* destination, const stored_t<Type>* values)
{
    for(int i = 0; i < Count; ++i)
    {
        if constexpr(Type == host_model::data_type::bf16)
        {
            destination[i] = float_to_bf16_bits(bf16_bits_to_float(destination[i]) +
                                                bf16_bits_to_float(values[i]));
        }
        else
        {
            destination[i] += values[i];
        }
    }
}

template <int Bytes>
struct raw_vector
{
    struct type
    { char bytes[Bytes]; };
};

} // namespace ck_tile::cuda_model
