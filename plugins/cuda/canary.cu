// SPDX-License-Identifier: MIT
// The reference kernels of NVIDIA GPUs.
#include <cuda_runtime.h>

#define CKPROF_RUNTIME(name) cuda##name
#include "ckprof_device_canary.hpp"
