// SPDX-License-Identifier: MIT
// Why the last IsSupportedArgument() of this thread answered no.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "ck_tile/core/config.hpp"

namespace ck_tile::host_model {

// One condition that a problem does not meet.
struct rejection
{
    std::string condition; // stable id, e.g. "vector-a"
    std::string reason;    // a sentence with the numbers
};

// Stores the rejection and says whether the test goes on: false, so that a test reads
// `return reject("parity", "C = 3 is odd")`, unless all unmet_requirements are collected.
CK_TILE_HOST_MODEL_API bool reject(std::string condition, std::string reason);

// For conditions without a name of their own.
CK_TILE_HOST_MODEL_API bool reject(std::string reason);

// Those of the last support test of this thread, in the order of its conditions. Empty if it
// succeeded.
CK_TILE_HOST_MODEL_API const std::vector<rejection>& unmet_requirements();

// The reason of the first one, which is the one that decides; empty if there is none.
CK_TILE_HOST_MODEL_API const std::string& last_rejection();

CK_TILE_HOST_MODEL_API void clear_rejection();

// To be called by a support test that has asked everything it knows. Without, a list of
// unmet_requirements is taken for a part of them: the test has returned at one of the first.
CK_TILE_HOST_MODEL_API void all_conditions_tested();

// Whether the last support test of this thread has said so.
CK_TILE_HOST_MODEL_API bool were_all_conditions_tested();

// Thrown at a launch: this device cannot do it, for a reason that a support test does not know. Not
// the kernel has failed, but one more condition is not met.
class rejected_launch : public std::runtime_error
{
public:
    rejected_launch(const char* condition, const std::string& reason)
        : std::runtime_error(std::string(condition) + ": " + reason)
    {}
};

// While one lives, support tests of its thread go on after a condition that is not met, as far as
// the following ones make sense. What they return is then of no meaning; unmet_requirements() is.
class collect_rejections
{
public:
    CK_TILE_HOST_MODEL_API collect_rejections();
    CK_TILE_HOST_MODEL_API ~collect_rejections();

    collect_rejections(const collect_rejections&)            = delete;
    collect_rejections& operator=(const collect_rejections&) = delete;
};

} // namespace ck_tile::host_model
