// SPDX-License-Identifier: MIT
// The start of the kernel that adds partial sums.
#pragma once

#include "ck_tile/cuda_model/add_parts.hpp"
#include "ck_tile/cuda_model/float_types.hpp"
#include "ck_tile/cuda_model/start.hpp"

namespace ck_tile::cuda_model::impl {

template <host_model::data_type Type, typename Place>
struct adder_tag;

// After a kernel that has called let_dependents_launch().
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
