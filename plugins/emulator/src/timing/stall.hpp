// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace ckprof::emulator {

// What a wave waits for.
enum class Stall : uint8_t
{
    unit,    // the unit that its instruction needs
    result,  // a register
    memory,  // s_waitcnt vmcnt
    local,   // s_waitcnt lgkmcnt
    barrier, // other waves
    code,    // its instructions
};
constexpr size_t stall_count = 6;
const char* name_of(Stall stall);

} // namespace ckprof::emulator
