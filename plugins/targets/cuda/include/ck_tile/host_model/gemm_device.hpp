// SPDX-License-Identifier: MIT
// Which plain GEMM kernels the engines of this target have.
#pragma once

namespace ck_tile::host_model {

struct gemm_device
{
    // Products are combined with D tensors.
    static constexpr bool d_tensors = false;
    // One launch computes many products.
    static constexpr bool batches = false;
};

} // namespace ck_tile::host_model
