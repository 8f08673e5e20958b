// SPDX-License-Identifier: MIT
#pragma once

#include "checks/definedness/rules.hpp"
#include "checks/definedness/shadow.hpp"
#include "core/wave.hpp"

namespace ckprof::emulator {

// Updates the shadow of the registers that an instruction of the arithmetic groups writes; called
// before it is executed, while its sources have their values.
void propagate(const Wave& wave,
               const Instruction& instruction,
               const DefinednessRule& rule,
               WaveShadow& shadow);

} // namespace ckprof::emulator
