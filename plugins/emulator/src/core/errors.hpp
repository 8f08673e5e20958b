// SPDX-License-Identifier: MIT
// What ends a kernel. Each says what, where (kernel, address, instruction) and leaves through the
// interpreter to the dispatcher, which turns it into what a device would do.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ckprof::emulator {

struct Wave;
struct Instruction;

enum class Fault : uint8_t
{
    illegal_instruction, // unknown opcode, or one that the emulator does not execute
    memory,              // an address that no allocation holds
    aborted,             // s_trap
    hang,                // more instructions than the budget
    check,               // found by a checker that ends the kernel
};

class DeviceError : public std::runtime_error
{
public:
    // `what` is completed with kernel, workgroup, address and text of the instruction.
    DeviceError(Fault kind,
                const std::string& what,
                const Wave& wave,
                const Instruction& instruction);
    Fault kind() const { return kind_; }
    const char* what() const noexcept override { return text_.c_str(); }
    // Says more at the end of the text.
    void add(const std::string& more) { text_ += more; }

private:
    Fault kind_;
    std::string text_;
};

class IllegalInstruction : public DeviceError
{
public:
    IllegalInstruction(const Wave& wave, const Instruction& instruction);
};

class MemoryFault : public DeviceError
{
public:
    MemoryFault(const Wave& wave,
                const Instruction& instruction,
                uint64_t address,
                unsigned bytes,
                bool write);
    uint64_t address() const { return address_; }

private:
    uint64_t address_;
};

// Of an instruction, from the symbol of the kernel that runs, as all messages count: negative in
// functions that lie in front of it.
int64_t offset_in_kernel(const Wave& wave, const Instruction& instruction);
// "0x1c", "-0x1c"
std::string offset_text(int64_t offset);

// "v_add_f32 v0, v1, v2 at 0x1234"
std::string instruction_at(const Wave& wave, const Instruction& instruction);
// "v_add_f32 v0, v1, v2 at 0x1234 of kernel NAME, workgroup (0, 0, 0), wave 1"
std::string place_of(const Wave& wave, const Instruction& instruction);

} // namespace ckprof::emulator
