// SPDX-License-Identifier: MIT
// Index types.
#pragma once

#include <cstdint>

namespace ck_tile {

using index_t      = std::int32_t;
using long_index_t = std::int64_t;

} // namespace ck_tile
