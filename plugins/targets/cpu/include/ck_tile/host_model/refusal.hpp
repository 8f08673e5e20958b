// SPDX-License-Identifier: MIT
// Why the last IsSupportedArgument() of this thread answered no.
#pragma once

#include <string>
#include <vector>

#include "ck_tile/core/config.hpp"

namespace ck_tile::host_model {

// One condition that a problem does not meet.
struct refusal
{
    std::string condition; // stable id, e.g. "vector-a"
    std::string reason;    // a sentence with the numbers
};

// Stores the refusal and says whether the test goes on: false, so that a test reads
// `return refuse("parity", "C = 3 is odd")`, unless all refusals are collected.
CK_TILE_HOST_MODEL_API bool refuse(std::string condition, std::string reason);

// For conditions without a name of their own.
CK_TILE_HOST_MODEL_API bool refuse(std::string reason);

// Those of the last support test of this thread, in the order of its conditions. Empty if it
// succeeded.
CK_TILE_HOST_MODEL_API const std::vector<refusal>& refusals();

// The reason of the first one, which is the one that decides; empty if there is none.
CK_TILE_HOST_MODEL_API const std::string& last_refusal();

CK_TILE_HOST_MODEL_API void clear_refusal();

// While one lives, support tests of its thread go on behind a condition that is not met, as far as
// the following ones make sense. What they return is then of no meaning; refusals() is.
class collect_refusals
{
public:
    CK_TILE_HOST_MODEL_API collect_refusals();
    CK_TILE_HOST_MODEL_API ~collect_refusals();

    collect_refusals(const collect_refusals&)            = delete;
    collect_refusals& operator=(const collect_refusals&) = delete;
};

} // namespace ck_tile::host_model
