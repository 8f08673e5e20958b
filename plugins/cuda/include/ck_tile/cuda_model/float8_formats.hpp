// SPDX-License-Identifier: MIT
// The encodings of the 8-bit floating-point types.
#pragma once

#include "ck_tile/host_model/data_type.hpp"

namespace ck_tile::cuda_model {

template <host_model::data_type Type>
struct float8_encoding_of;
template <>
struct float8_encoding_of<host_model::data_type::fp8_fnuz>
{
    using type = e4m3_fnuz;
};
template <>
struct float8_encoding_of<host_model::data_type::bf8_fnuz>
{
    using type = e5m2_fnuz;
};
template <>
struct float8_encoding_of<host_model::data_type::fp8_ocp>
{
    using type = e4m3_ocp;
};
template <>
struct float8_encoding_of<host_model::data_type::bf8_ocp>
{
    using type = e5m2_ocp;
};
template <host_model::data_type Type>
using float8_encoding = typename float8_encoding_of<Type>::type;

} // namespace ck_tile::cuda_model
