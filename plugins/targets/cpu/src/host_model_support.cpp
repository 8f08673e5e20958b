// SPDX-License-Identifier: MIT
// The routines that answer what a kernel is and supports, for every kernel library, also for those
// whose kernels run on another device or not at all.
#include "ck_tile/host_model/runtime_support.hpp"
