// SPDX-License-Identifier: MIT
// The reference kernels of AMD GPUs.
#include <hip/hip_runtime.h>

#define CKPROF_RUNTIME(name) hip##name
#define hipDevAttrMultiProcessorCount hipDeviceAttributeMultiprocessorCount
#include "ckprof_device_canary.hpp"
