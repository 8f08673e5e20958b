// SPDX-License-Identifier: MIT
// Launches of which a few workgroups are executed, on memory that takes what is touched of it.
#pragma once

#include <cstddef>
#include <cstdint>

#define CKPROF_EXPORT __attribute__((visibility("default")))

extern "C" {

// From now on each launch executes the workgroups at these places alone: from 0 for the first to 1
// for the last one. Memory that is allocated from now on holds zeros. Returns how often memory was
// set since the call before.
CKPROF_EXPORT uint64_t ckprof_emulator_sample(const double* places, size_t count);
}
