// SPDX-License-Identifier: MIT
// Definitions of everything that is not a template. Included by the kernels; contributes nothing
// unless the model is used header-only.
#pragma once

#include "ck_tile/core/config.hpp"

#if defined(CK_TILE_HOST_MODEL_HEADER_ONLY)
#include "ck_tile/host_model/runtime_blocks.hpp"
#include "ck_tile/host_model/runtime_support.hpp"
#endif
