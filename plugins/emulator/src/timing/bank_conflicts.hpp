// SPDX-License-Identifier: MIT
// How long LDS takes for one access of a wave.
#pragma once

#include <cstdint>

#include "core/lanes.hpp"

namespace ckprof::emulator {

struct LdsCycles
{
    unsigned all    = 0;
    unsigned spared = 0; // how many fewer there would be without conflicts
};

// Lanes are served in groups, as many as together have as many bytes as LDS answers in a cycle. A
// group takes as many cycles as there are different words of 32 bits in one bank. Reads of 128 bits
// are not grouped by consecutive lanes.
//
// `address` has 64 offsets, of which those of the mask count.
LdsCycles lds_cycles(const uint64_t* address,
                     LaneMask lanes,
                     unsigned bytes,
                     bool read,
                     unsigned banks,
                     unsigned cycle_bytes);

} // namespace ckprof::emulator
