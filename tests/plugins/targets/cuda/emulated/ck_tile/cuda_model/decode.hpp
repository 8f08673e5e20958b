// SPDX-License-Identifier: MIT
// 8-bit operands need the device's conversions, so there are none on the host.
#pragma once

#include <cstdint>

#include "ck_tile/host_model/data_type.hpp"

namespace ck_tile::cuda_model {

template <host_model::data_type Type, host_model::data_type Shared, int Count>
void copy_decoded(std::uint32_t destination, const void* source) = delete;

} // namespace ck_tile::cuda_model
