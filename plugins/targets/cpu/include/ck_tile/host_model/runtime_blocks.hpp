// SPDX-License-Identifier: MIT
// Definitions of what the blocks of kernels compute, and of the threads that run blocks.
#pragma once

#include "ck_tile/host_model/impl/backward_data_block.hpp"
#include "ck_tile/host_model/impl/backward_weight_block.hpp"
#include "ck_tile/host_model/impl/choose_unit.hpp"
#include "ck_tile/host_model/impl/depthwise_block.hpp"
#include "ck_tile/host_model/impl/forward_block.hpp"
#include "ck_tile/host_model/impl/grid.hpp"
#include "ck_tile/host_model/impl/plain_gemm_block.hpp"
#include "ck_tile/host_model/impl/stream_k_block.hpp"
