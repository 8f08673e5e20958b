// SPDX-License-Identifier: MIT
// The start of the kernel that adds partial sums, and what starts share that get types at run time.
#pragma once

#include "ck_tile/cuda_model/add_parts.hpp"
#include "ck_tile/cuda_model/start.hpp"

namespace ck_tile::cuda_model::impl {

inline bool is_float_type(host_model::data_type type)
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

template <host_model::data_type Type, typename Place>
struct adder_tag;

// After a kernel that has called let_adders_launch().
template <typename Place>
void start_adders(cudaStream_t stream, host_model::data_type result, const parts_to_add<Place>& p)
{
    with_float_type(result, [&]<host_model::data_type Type>() {
        grid_blocks blocks{static_cast<unsigned>((p.sums + 31) / 32)};
        blocks.early = true;
        start<adder_tag<Type, Place>>(&add_parts<Type, default_bf16_rounding_mode, Place>,
                                      blocks,
                                      32u * part_adders,
                                      static_cast<int>(sizeof(float)) * 32 * part_adders,
                                      stream,
                                      p.result,
                                      p);
    });
}

} // namespace ck_tile::cuda_model::impl
