// SPDX-License-Identifier: MIT
// What checkers find: each place once, with how often.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ckprof::emulator {

struct Wave;
struct Instruction;

struct Finding
{
    std::string check;    // "races", "uninitialised", "waits", "async", "bounds", "barriers"
    std::string message;  // what happened first, with instruction, kernel, workgroup and wave
    uint32_t address = 0; // of the instruction in its code
    // of another one that is a part of it, and from the kernel's symbol, as the message has it
    std::optional<uint32_t> other;
    int64_t other_offset = 0;
    uint64_t count       = 0;
};

// Thread-safe.
class FindingLog
{
public:
    // `other` is an instruction that the text names as well, of the same code.
    void add(const char* check,
             const std::string& what,
             const Wave& wave,
             const Instruction& instruction,
             const Instruction* other = nullptr);
    // Counts what was found at the instruction before; false if nothing was, so that a text is
    // only made once.
    bool again(const char* check, const Instruction& instruction);
    // In the order of checks and addresses.
    std::vector<Finding> findings() const;

private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::string, uint32_t>, Finding> found_;
};

} // namespace ckprof::emulator
