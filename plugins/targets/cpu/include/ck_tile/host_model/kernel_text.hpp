// SPDX-License-Identifier: MIT
// Texts that identify a kernel.
#pragma once

#include <string>

#include "ck_tile/core/config.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"

namespace ck_tile::host_model {

// Name<f1,...,fn> as CK Builder prints it: 31 fields, backward weight 32 or (stream-K) 34.
CK_TILE_HOST_MODEL_API std::string instance_string(const kernel_facts& facts);

// Tokens joined by "_", as GetName() of a kernel gives.
CK_TILE_HOST_MODEL_API std::string kernel_name(const kernel_facts& facts);

} // namespace ck_tile::host_model
