// SPDX-License-Identifier: MIT
// The host model's kernels with the names of the fake HIP runtime in place of the model's own.
#pragma once

#include <hip/hip_runtime.h>
