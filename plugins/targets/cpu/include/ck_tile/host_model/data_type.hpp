// SPDX-License-Identifier: MIT
// Element types as values.
#pragma once

#include <cstdint>

#include "ck_tile/core/numeric/bfloat16.hpp"
#include "ck_tile/core/numeric/float8.hpp"
#include "ck_tile/core/numeric/half.hpp"
#include "ck_tile/core/numeric/tfloat32.hpp"

namespace ck_tile::host_model {

// Both encodings of the 8-bit types: which one a kernel means is decided where it is compiled.
enum class data_type : std::uint8_t
{
    fp32,
    fp16,
    bf16,
    fp8_fnuz,
    bf8_fnuz,
    fp8_ocp,
    bf8_ocp,
    int8,
    int32,
    tf32 // of factors, never of a tensor
};

constexpr int size_of(data_type type)
{
    switch(type)
    {
    case data_type::fp32:
    case data_type::tf32:
    case data_type::int32: return 4;
    case data_type::fp16:
    case data_type::bf16: return 2;
    default: return 1;
    }
}

constexpr const char* name_of(data_type type)
{
    switch(type)
    {
    case data_type::fp32: return "fp32";
    case data_type::fp16: return "fp16";
    case data_type::bf16: return "bf16";
    case data_type::fp8_fnuz:
    case data_type::fp8_ocp: return "fp8";
    case data_type::bf8_fnuz:
    case data_type::bf8_ocp: return "bf8";
    case data_type::int8: return "int8";
    case data_type::int32: return "int32";
    case data_type::tf32: return "tf32";
    }
    return "unknown";
}

// As instance strings have it.
constexpr const char* spelling_of(data_type type)
{
    switch(type)
    {
    case data_type::int8: return "s8";
    case data_type::int32: return "s32";
    default: return name_of(type);
    }
}

constexpr bool is_integer(data_type type)
{ return type == data_type::int8 || type == data_type::int32; }

template <data_type Type>
struct data_type_constant
{
    static constexpr data_type value = Type;
};

template <typename T>
struct data_type_of;

template <>
struct data_type_of<float> : data_type_constant<data_type::fp32>
{};
template <>
struct data_type_of<half_t> : data_type_constant<data_type::fp16>
{};
template <>
struct data_type_of<bf16_t> : data_type_constant<data_type::bf16>
{};
template <>
struct data_type_of<float8<e4m3_fnuz>> : data_type_constant<data_type::fp8_fnuz>
{};
template <>
struct data_type_of<float8<e5m2_fnuz>> : data_type_constant<data_type::bf8_fnuz>
{};
template <>
struct data_type_of<float8<e4m3_ocp>> : data_type_constant<data_type::fp8_ocp>
{};
template <>
struct data_type_of<float8<e5m2_ocp>> : data_type_constant<data_type::bf8_ocp>
{};
template <>
struct data_type_of<std::int8_t> : data_type_constant<data_type::int8>
{};
template <>
struct data_type_of<std::int32_t> : data_type_constant<data_type::int32>
{};
template <>
struct data_type_of<tf32_t> : data_type_constant<data_type::tf32>
{};

} // namespace ck_tile::host_model
