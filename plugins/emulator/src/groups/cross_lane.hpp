// SPDX-License-Identifier: MIT
// Data parallel primitives (DPP): the first source comes from another lane.
#pragma once

#include "core/lanes.hpp"
#include "isa/instruction.hpp"

namespace ckprof::emulator {

// Lanes that the masks select and that have a source that is on, or read 0 instead.
LaneMask cross_lane_written(const CrossLane& dpp, LaneMask exec);

// Values from other lanes; 0 where there is no source.
VectorRegister cross_lane_values(const CrossLane& dpp, const VectorRegister& from, LaneMask exec);

} // namespace ckprof::emulator
