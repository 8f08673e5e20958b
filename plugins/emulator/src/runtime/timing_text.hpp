// SPDX-License-Identifier: MIT
// Timings as JSON.
#pragma once

#include <string>

#include "timing/launch_timing.hpp"

namespace ckprof::emulator {

std::string json_of(const UnitTime& time);
std::string json_of(const LaunchTiming& timing);

} // namespace ckprof::emulator
