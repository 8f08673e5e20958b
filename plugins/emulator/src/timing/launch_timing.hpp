// SPDX-License-Identifier: MIT
// The time of one launch: a few of its workgroups are executed and put onto one compute unit.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/dispatch.hpp"
#include "timing/compute_unit.hpp"

namespace ckprof::emulator {

struct TimingOptions
{
    Machine machine;
    unsigned compute_units = 1;
    // instructions of all waves that one simulation executes about; beyond it loops are shortened
    uint64_t most_steps = 400'000;
    // what instructions and waves do is kept, too
    bool profile = false;
};

struct Occupancy
{
    unsigned workgroups = 0; // of a compute unit
    const char* limit   = "";
};

// What fits onto a compute unit at once, and what allows no more.
Occupancy
occupancy(const Machine& machine, const Kernel& kernel, unsigned waves, unsigned lds_bytes);

struct LaunchTiming
{
    std::string kernel;
    std::array<uint32_t, 3> grid{}, block{};
    uint64_t workgroups = 0;
    Occupancy occupancy;
    uint64_t queue = 0; // workgroups of the compute unit that has most
    UnitTime time;      // of all of them
    UnitTime alone;     // of one
    UnitTime edge;      // of the last one of the launch, alone
    uint64_t lines_read = 0, lines_written = 0, group_steps = 0, iterations = 0;
    // What the code object says that the function needs, LDS with what the launch adds.
    std::vector<std::pair<const char*, uint64_t>> needs;
    // With a profile: each instruction that was executed, by its address.
    struct Executed
    {
        uint32_t address, instruction;
        std::string text, source; // "file:line", where there is a line table
        Unit unit         = Unit::control;
        bool in_loop      = false; // that most steps belong to
        double executions = 0;     // by the waves of a workgroup
        Spent spent;               // by the waves of all workgroups that were simulated
        MemoryWork memory;         // of all executions of a workgroup
    };
    std::vector<Executed> executed;
    Profile profile; // its time is that of an iteration of the loop, if there is one
};

LaunchTiming time_launch(const TimingOptions& options,
                         const Dispatch& dispatch,
                         const Launch& launch,
                         const Kernel& kernel,
                         unsigned lds_bytes);

} // namespace ckprof::emulator
