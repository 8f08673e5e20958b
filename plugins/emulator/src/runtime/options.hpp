// SPDX-License-Identifier: MIT
// What the environment says about the emulated device.
#pragma once

#include <cstdint>
#include <string>

namespace ckprof::emulator {

struct Options
{
    unsigned threads = 1;
    uint64_t seed    = 0; // of what registers, LDS and memory hold that nothing has set
    // of the order of workgroups and waves; 0: as they are numbered, or the other way round
    uint64_t order_seed         = 0;
    bool reverse                = false;
    uint64_t instruction_budget = uint64_t{1} << 32; // of a wave; 0: none
    uint64_t memory_bytes       = 0;                 // 0: as much as the architecture's device has
    bool faults_abort = false; // the process, as ROCm's runtime does; else they are errors
    std::string checks;        // names of checkers, separated by commas
    // NAME:N:PART, an instruction that a test takes out of kernels whose name has the part
    std::string omitted;
    std::string failure; // FUNCTION:CALL:CODE that a test injects; CODE "abort" ends the process

    // Throws std::invalid_argument for a value that is none.
    static Options from_environment();
    // What memory and registers hold that nothing has set: what checkers know it by, or with a seed
    // a NaN as fp32 and in both halves as fp16 and bf16; no address.
    uint32_t undefined() const;
    // Whether it is noted what has been written.
    bool notes_undefined() const;
};

} // namespace ckprof::emulator
