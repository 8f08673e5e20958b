// SPDX-License-Identifier: MIT
// What a simulation of a compute unit notes of single instructions, where somebody wants to know.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "timing/machine.hpp"
#include "timing/stall.hpp"

namespace ckprof::emulator {

// What waves spend at one instruction, in cycles summed over its executions.
struct Spent
{
    double executions = 0;
    double issue      = 0; // from its issue to that of the next one, if nothing held that back
    std::array<double, stall_count> stalled{};

    double cycles() const
    {
        double all = issue;
        for(const double wait : stalled) all += wait;
        return all;
    }
};

// Something that goes on for a while.
struct Span
{
    enum class Kind : uint8_t
    {
        wait,   // of a wave, for what `stall` says
        issue,  // of a wave's instruction
        work,   // of a unit
        flight, // from the issue of a memory instruction until it is completed
    };
    Kind kind;
    Unit unit;   // of the instruction
    Stall stall; // of a wait
    uint32_t wave, instruction;
    double from, to;
    uint32_t address = 0; // of the instruction, once the program is at hand
};

struct WatchedWave
{
    size_t group = 0, wave = 0; // which workgroup, and which of its waves
};

// The SIMD of the first wave is watched while that wave executes the steps [begin, end): its waves,
// its units, and the units that it shares with the other SIMDs.
struct Profile
{
    size_t begin = 0, end = 0;
    std::vector<Spent> spent; // of each instruction of the program
    double from = 0, to = 0;
    std::vector<WatchedWave> waves; // Span::wave is an index of it; other SIMDs' are beyond it
    std::vector<Span> spans;        // that overlap [from, to)
};

} // namespace ckprof::emulator
