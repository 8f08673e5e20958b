// SPDX-License-Identifier: MIT
// Operands, references and comparisons on an NVIDIA GPU.
#include <cuda_runtime.h>

#define CKPROF_RUNTIME(name) cuda##name
#include "ckprof_device_api.hpp"
#include "ckprof_device_checks.hpp"

namespace {

constexpr ckprof_checks table = ckprof::checks::table<ckprof::device_api>();

} // namespace

extern "C" const ckprof_checks* ckprof_get_checks(void) { return &table; }
