// SPDX-License-Identifier: MIT
// What launches execute, and in which order, from a call on.
#pragma once

#include <cstddef>
#include <cstdint>

#define CKPROF_EXPORT __attribute__((visibility("default")))

extern "C" {

// Each launch executes the workgroups at these places alone: from 0 for the first to 1
// for the last one. Memory that is allocated from now on holds zeros and takes what is touched of
// it. Returns how often memory was set since the call before.
CKPROF_EXPORT uint64_t ckprof_emulator_sample(const double* places, size_t count);
// Workgroups and waves come as they are numbered, the other way round, or as a seed that is not 0
// draws it.
CKPROF_EXPORT void ckprof_emulator_order(int reverse, uint64_t seed);
}
