// SPDX-License-Identifier: MIT
#include "runtime/sampling.hpp"

#include <vector>

#include "runtime/device.hpp"

uint64_t ckprof_emulator_sample(const double* places, size_t count)
{ return ckprof::emulator::device().sample({places, places + count}); }

void ckprof_emulator_order(int reverse, uint64_t seed)
{ ckprof::emulator::device().order(reverse != 0, seed); }
