// SPDX-License-Identifier: MIT
// Part of the model of CK Tile's dispatcher: generated sources include it and use nothing of it.
#pragma once

#include "ck_tile/dispatcher/grouped_conv_registry.hpp"
