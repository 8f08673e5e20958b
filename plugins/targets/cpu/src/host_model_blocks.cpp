// SPDX-License-Identifier: MIT
// The routines that do a kernel's work, for every kernel library. Compile once, optimised for the
// machine (-O3 -march=native), and link it to the libraries of generated kernels.
#include "ck_tile/host_model/runtime_blocks.hpp"
