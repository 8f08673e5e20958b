// SPDX-License-Identifier: MIT
#pragma once

#include "ck_tile/ops/elementwise/unary_element_wise_operation.hpp"
