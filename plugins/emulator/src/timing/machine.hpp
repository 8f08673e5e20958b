// SPDX-License-Identifier: MIT
// What a device does at once and how long that takes: the numbers of a data table, in cycles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/instruction.hpp"

namespace ckprof::emulator {

enum class Unit : uint8_t
{
    vector,  // VALU of a SIMD
    matrix,  // of a SIMD
    scalar,  // scalar ALU, one per compute unit
    branch,  // one per compute unit
    lds,     // one per compute unit
    memory,  // vector memory, one per compute unit
    message, // scalar memory, one per compute unit
    control, // waits, barriers, hints: no unit
};
constexpr size_t unit_count = 8;
const char* name_of(Unit unit);

// What one instruction costs.
struct Cost
{
    Unit unit        = Unit::vector;
    uint16_t busy    = 4; // cycles that the unit takes no other instruction
    uint16_t latency = 4; // cycles until an instruction that reads the result may issue
    // the same for the accumulator of a matrix instruction that continues the sum
    uint16_t chained = 4;
};

struct Machine
{
    unsigned simds = 4, waves_per_simd = 8, workgroups_per_cu = 16;
    unsigned vector_registers = 512, vector_grain = 8, scalar_registers = 800, scalar_grain = 1;
    unsigned lds_bytes = 65536, lds_grain = 512;
    unsigned issue_cycles      = 4; // that a port of a SIMD takes for an instruction
    unsigned wave_cycles       = 4; // between two instructions of a wave
    unsigned vector_latency    = 4; // of results of vector instructions without a rule
    unsigned lds_banks         = 32;
    unsigned lds_cycle_bytes   = 128; // that LDS answers in one cycle
    unsigned lds_latency       = 64;  // of the first byte
    unsigned line_bytes        = 128;
    unsigned cache_bytes       = 32768; // of vector memory, per compute unit
    unsigned cache_cycle_bytes = 64;
    unsigned cache_latency     = 120; // of a hit
    unsigned miss_latency      = 500; // of what comes from beyond it
    double miss_cycle_bytes    = 64;  // that a compute unit gets from beyond its cache
    unsigned scalar_latency    = 200; // of a scalar load
    unsigned branch_cycles     = 16;  // that a taken branch costs its wave
    unsigned barrier_cycles    = 8;   // from the last arrival on
    unsigned dispatch_cycles   = 0;   // until another workgroup begins where one has ended
    unsigned code_line_bytes   = 64;
    unsigned code_latency      = 0; // of a line of code that is executed for the first time

    // The table as lines: "NAME NUMBER", or "instruction PATTERN UNIT BUSY LATENCY CHAINED", of
    // which the first that matches counts; '*' stands for any text. Throws
    // std::invalid_argument.
    static Machine parse(std::string_view table);

    Cost cost_of(const Instruction& instruction) const;

private:
    struct Rule
    {
        std::string pattern;
        Cost cost;
    };
    std::vector<Rule> rules_;
};

} // namespace ckprof::emulator
