// SPDX-License-Identifier: MIT
#pragma once

#include "ck_tile/ops/epilogue/cshuffle_epilogue.hpp"
#include "ck_tile/ops/epilogue/default_2d_epilogue.hpp"
#include "ck_tile/ops/epilogue/tdm_epilogue.hpp"
