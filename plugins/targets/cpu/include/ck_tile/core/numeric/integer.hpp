// SPDX-License-Identifier: MIT
// Index types.
#pragma once

#include <cstdint>

namespace ck_tile {

using index_t      = std::int32_t;
using long_index_t = std::int64_t;
using int8_t       = std::int8_t;
using int32_t      = std::int32_t;

} // namespace ck_tile
