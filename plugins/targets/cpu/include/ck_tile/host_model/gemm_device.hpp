// SPDX-License-Identifier: MIT
// Which plain GEMM kernels the device runs; a target with another one brings its own file.
#pragma once

namespace ck_tile::host_model {

struct gemm_device
{
    // Products are combined with D tensors.
    static constexpr bool d_tensors = true;
    // One launch computes many products.
    static constexpr bool batches = true;
};

} // namespace ck_tile::host_model
