// SPDX-License-Identifier: MIT
// Predicted times: from timing_begin on, launches execute a few workgroups each, results of kernels
// and memory that is set mean nothing, and memory has no values until something writes them.
#pragma once

#include <cstddef>
#include <cstdint>

#define CKPROF_EXPORT __attribute__((visibility("default")))

extern "C" {

// `table` is what Machine::parse reads. With `profile`, what instructions and waves do is
// listed, too. 0, or not and a message.
CKPROF_EXPORT int ckprof_emulator_timing_begin(const char* table,
                                               uint32_t compute_units,
                                               uint64_t most_steps,
                                               uint32_t profile,
                                               char* message,
                                               size_t message_bytes);

// What the device did since the last call, one JSON object per line; returns the bytes that the
// text needs with its end. Nothing is forgotten where they do not suffice.
CKPROF_EXPORT size_t ckprof_emulator_timing_take(char* text, size_t text_bytes);
}
