// SPDX-License-Identifier: MIT
// What convolution kernels of this interface level do differently from those of another.
#pragma once

#include <string>

#include "ck_tile/host_model/kernel_text.hpp"

namespace ck_tile::host_model {

struct conv_level
{
    // More splits than steps of the matrix instruction, or than additions in 16 bits allow, are
    // rejected.
    static constexpr bool bounds_splits = true;
    // Kernels of backward data can split their reduction.
    static constexpr bool splits_backward_data = true;

    // What a kernel is called.
    template <typename Kernel>
    static std::string name_of_kernel()
    { return kernel_name(Kernel::facts); }
};

} // namespace ck_tile::host_model
