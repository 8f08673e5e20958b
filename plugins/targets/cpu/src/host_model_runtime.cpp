// SPDX-License-Identifier: MIT
// The routines that every kernel library shares. Compile once, optimised for the machine (-O3
// -march=native), and link it to the libraries of generated kernels.
#define CK_TILE_HOST_MODEL_RUNTIME
#include "ck_tile/host_model/runtime.hpp"
