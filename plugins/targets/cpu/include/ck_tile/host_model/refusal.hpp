// SPDX-License-Identifier: MIT
// The former names of rejection.hpp, for headers of kernel families that are older than the
// renaming.
#pragma once

#include <string>
#include <utility>

#include "ck_tile/host_model/rejection.hpp"

namespace ck_tile::host_model {

using refusal = rejection;

inline bool refuse(std::string condition, std::string reason)
{ return reject(std::move(condition), std::move(reason)); }

inline bool refuse(std::string reason) { return reject(std::move(reason)); }

} // namespace ck_tile::host_model
