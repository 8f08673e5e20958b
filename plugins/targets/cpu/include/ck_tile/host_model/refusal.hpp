// SPDX-License-Identifier: MIT
// Why the last IsSupportedArgument() of this thread answered no.
#pragma once

#include <string>

#include "ck_tile/core/config.hpp"

namespace ck_tile::host_model {

// Stores the reason and returns false, so that a test reads `return refuse("...")`.
CK_TILE_HOST_MODEL_API bool refuse(std::string reason);

// Empty if the last support test of this thread succeeded.
CK_TILE_HOST_MODEL_API const std::string& last_refusal();

CK_TILE_HOST_MODEL_API void clear_refusal();

} // namespace ck_tile::host_model
