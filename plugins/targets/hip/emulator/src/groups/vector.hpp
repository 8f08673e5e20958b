// SPDX-License-Identifier: MIT
// What vector instructions have in common: sources of 64 lanes, results under the execution mask.
#pragma once

#include "core/wave.hpp"

namespace ckprof::emulator {

// Writes active lanes of a result.
inline void
write_lanes(Wave& wave, const Operand& destination, const VectorRegister& value, unsigned dword = 0)
{ merge(wave.result(destination, dword), value, wave.exec()); }

// operation(a, b) for each active lane, on unsigned 32 bits.
template <auto operation>
void binary_u32(Wave& wave, const Instruction& i)
{
    const VectorRegister& a = wave.lanes(i.source[0], wave.temporary[0]);
    const VectorRegister& b = wave.lanes(i.source[1], wave.temporary[1]);
    VectorRegister& result  = wave.temporary[7];
    for(int lane = 0; lane < lane_count; ++lane)
        result.lane[lane] = operation(a.lane[lane], b.lane[lane]);
    write_lanes(wave, i.destination, result);
}

} // namespace ckprof::emulator
