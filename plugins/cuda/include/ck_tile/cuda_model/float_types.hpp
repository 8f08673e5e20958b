// SPDX-License-Identifier: MIT
// Floating-point types that are known at run time as constants.
#pragma once

#include "ck_tile/host_model/kernel_facts.hpp"

namespace ck_tile::cuda_model::impl {

constexpr bool is_float_type(host_model::data_type type)
{
    using host_model::data_type;
    return type == data_type::bf16 || type == data_type::fp16 || type == data_type::fp32;
}

// Calls start with one of these types as a constant.
template <typename Start>
auto with_float_type(host_model::data_type type, const Start& start)
{
    using host_model::data_type;
    switch(type)
    {
    case data_type::bf16: return start.template operator()<data_type::bf16>();
    case data_type::fp16: return start.template operator()<data_type::fp16>();
    default: return start.template operator()<data_type::fp32>();
    }
}

} // namespace ck_tile::cuda_model::impl
