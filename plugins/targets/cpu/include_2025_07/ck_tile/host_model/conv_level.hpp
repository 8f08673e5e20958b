// SPDX-License-Identifier: MIT
// What convolution kernels of this interface level do differently from those of another.
#pragma once

namespace ck_tile::host_model {

struct conv_level
{
    // More splits than steps of the matrix instruction, or than additions in 16 bits allow, are
    // rejected.
    static constexpr bool bounds_splits = false;
    // Kernels of backward data can split their reduction.
    static constexpr bool splits_backward_data = false;
};

} // namespace ck_tile::host_model
