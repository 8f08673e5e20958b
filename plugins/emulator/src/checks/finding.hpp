// SPDX-License-Identifier: MIT
// What checkers find: each place once, with how often.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ckprof::emulator {

struct Wave;
struct Instruction;

struct Finding
{
    std::string check;    // "races", "uninitialised", "waits", "bounds", "barriers"
    std::string message;  // what happened first, with instruction, kernel, workgroup and wave
    uint32_t address = 0; // of the instruction in its code
    uint64_t count   = 0;
};

// Thread-safe.
class FindingLog
{
public:
    // `what` completes "v_add_u32 v0, v1, v2 at 0x10 of kernel NAME, ...: "
    void add(const char* check,
             const std::string& what,
             const Wave& wave,
             const Instruction& instruction);
    // In the order of checks and addresses.
    std::vector<Finding> findings() const;

private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::string, uint32_t>, Finding> found_;
};

} // namespace ckprof::emulator
