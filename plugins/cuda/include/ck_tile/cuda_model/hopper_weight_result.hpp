// SPDX-License-Identifier: MIT
// Where engine W stores results of backward weight.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/hopper_store.hpp"
#include "ck_tile/cuda_model/hopper_weight_place.hpp"

namespace ck_tile::cuda_model {

template <typename Config>
struct weight_result : weight_place<Config>
{
    using weight_place<Config>::row_part, weight_place<Config>::column_part;
    using weight_place<Config>::w;

    // Some columns of the sums of one warpgroup, whose first row that is.
    __device__ __forceinline__ void store(const hopper_store<Config>& way,
                                          const float (&sum)[Config::own_blocks][Config::n / 2],
                                          int first_row,
                                          const column_range& columns) const
    {
        constexpr int vector = Config::vector_c;
        way.template store<vector>(
            sum,
            columns,
            [&](int block, int row) { return row_part(way.warp_row(first_row, block) + row); },
            [&](int column) { return column_part(column); },
            [&](const result_part& row, const result_part& column, const auto* values) {
                const std::int64_t offset = result_part::meet(row, column);
                if(offset >= 0) { put_vector<vector>(w.g.result, offset, values); }
            });
    }
};

} // namespace ck_tile::cuda_model
