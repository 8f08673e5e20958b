// SPDX-License-Identifier: MIT
// Which element types of convolutions are computed on CUDA devices.
#pragma once

namespace ck_tile::host_model::impl {

// Tensors of 8 bits.
inline constexpr bool computes_bytes = false;

} // namespace ck_tile::host_model::impl
