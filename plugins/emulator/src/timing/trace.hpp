// SPDX-License-Identifier: MIT
// What the waves of one workgroup have executed, instruction by instruction.
#pragma once

#include <cstdint>
#include <vector>

namespace ckprof::emulator {

// Of one instruction that accesses memory, all its lanes together.
struct MemoryWork
{
    uint32_t lds_cycles      = 0; // that LDS is busy, conflicts included
    uint32_t conflict_cycles = 0; // of them, those beyond what the bytes alone take
    uint32_t cache_cycles    = 0; // that addresses and the cache of vector memory are busy
    uint32_t lines           = 0; // distinct ones
    uint32_t missed          = 0; // of them, those that the cache does not hold
    uint32_t bytes           = 0; // that lanes ask for
    bool store               = false;
};

struct Step
{
    uint32_t instruction = 0;  // index in the program
    int32_t memory       = -1; // index in WaveTrace::memory
};

struct WaveTrace
{
    std::vector<Step> steps;
    std::vector<MemoryWork> memory;
};

struct GroupTrace
{
    std::vector<WaveTrace> waves;
    uint64_t lines_read = 0, lines_written = 0; // distinct ones of global memory
    uint64_t steps() const
    {
        uint64_t all = 0;
        for(const WaveTrace& wave : waves) all += wave.steps.size();
        return all;
    }
};

} // namespace ckprof::emulator
