// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace ck_tile::host_model {

// How a GEMM's tile reaches memory.
enum class gemm_store : std::uint8_t
{
    by_split_k, // stored if K is not split, else added
    set,
    atomic_add
};

} // namespace ck_tile::host_model
