// SPDX-License-Identifier: MIT
// Definitions of everything that is not a template. Included by the kernels; contributes nothing
// unless the model is used header-only or this is the translation unit that provides the runtime.
#pragma once

#include "ck_tile/core/config.hpp"

#if defined(CK_TILE_HOST_MODEL_HEADER_ONLY) || defined(CK_TILE_HOST_MODEL_RUNTIME)
#include "ck_tile/host_model/impl/backward_data.hpp"
#include "ck_tile/host_model/impl/backward_weight.hpp"
#include "ck_tile/host_model/impl/depthwise.hpp"
#include "ck_tile/host_model/impl/device.hpp"
#include "ck_tile/host_model/impl/forward.hpp"
#include "ck_tile/host_model/impl/grid.hpp"
#include "ck_tile/host_model/impl/kernel_text.hpp"
#include "ck_tile/host_model/impl/plain_gemm.hpp"
#include "ck_tile/host_model/impl/plain_gemm_support.hpp"
#include "ck_tile/host_model/impl/rejection.hpp"
#include "ck_tile/host_model/impl/stream_k.hpp"
#include "ck_tile/host_model/impl/support.hpp"
#endif
