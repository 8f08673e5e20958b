// SPDX-License-Identifier: MIT
#pragma once

#include "ck_tile/ops/common/tensor_layout.hpp"
