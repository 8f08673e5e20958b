// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace ck_tile::host_model {

// Rows, columns and depth of one GEMM of a batch.
struct gemm_sizes
{
    std::int64_t m = 0, n = 0, k = 0;
    std::int64_t batch = 0;
};

} // namespace ck_tile::host_model
