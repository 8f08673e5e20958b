// SPDX-License-Identifier: MIT
// The loop that most of a wave's instructions belong to, and traces with fewer iterations of it.
#pragma once

#include <cstddef>
#include <optional>

#include "timing/trace.hpp"

namespace ckprof::emulator {

struct SteadyLoop
{
    size_t begin      = 0; // step of the first iteration
    size_t period     = 0; // steps of an iteration, 0 without a loop
    size_t iterations = 0; // that execute the same instructions one after the other
};

SteadyLoop find_steady_loop(const WaveTrace& trace);

// Iterations of the loop of all waves; 0 if they do not execute it equally often.
size_t common_iterations(const GroupTrace& group);

// The same with so many iterations of the loop, which are taken from all of them at equal
// distances.
GroupTrace shortened(const GroupTrace& group, size_t iterations);

} // namespace ckprof::emulator
