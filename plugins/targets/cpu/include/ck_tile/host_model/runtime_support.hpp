// SPDX-License-Identifier: MIT
// Definitions of what a kernel's host side asks: what it computes for a problem, whether it
// supports that, what it is called, which device is modelled, and what multiplies bf16.
#pragma once

#include "ck_tile/host_model/impl/backward_data.hpp"
#include "ck_tile/host_model/impl/backward_weight.hpp"
#include "ck_tile/host_model/impl/depthwise.hpp"
#include "ck_tile/host_model/impl/device.hpp"
#include "ck_tile/host_model/impl/forward.hpp"
#include "ck_tile/host_model/impl/kernel_text.hpp"
#include "ck_tile/host_model/impl/plain_gemm_support.hpp"
#include "ck_tile/host_model/impl/product_unit.hpp"
#include "ck_tile/host_model/impl/rejection.hpp"
#include "ck_tile/host_model/impl/support.hpp"
