// SPDX-License-Identifier: MIT
// From the bytes of a kernel to instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/instruction.hpp"

namespace ckprof::emulator {

// Code as decoded instructions, with a way from addresses to them.
class Program
{
public:
    // What is no instruction is decoded as one that ends the kernel with an error when it is
    // reached: constants may lie between functions. `base` is the address of the first word in
    // memory.
    Program(Architecture architecture, std::span<const uint32_t> words, uint64_t base);

    Program(const Program&)            = delete;
    Program& operator=(const Program&) = delete;

    Architecture architecture() const { return architecture_; }
    uint64_t base() const { return base_; }
    std::span<const Instruction> instructions() const
    { return {instructions_.data(), instructions_.size() - 1}; }

    // From now on the instruction does nothing: a fault that is planted to see whether it is found.
    void omit(const Instruction& instruction);

    // Null where no instruction begins. The end of the code has one that reports it.
    const Instruction* at(uint64_t address) const
    {
        const uint64_t word = (address - base_) / 4;
        return address % 4 == 0 && word < by_word_.size() && by_word_[word] >= 0
                   ? &instructions_[static_cast<size_t>(by_word_[word])]
                   : nullptr;
    }
    // The instruction that begins so many bytes after the first word: Instruction::address.
    const Instruction& from(uint32_t address) const { return *at(base_ + address); }
    uint64_t address_of(const Instruction& instruction) const
    { return base_ + instruction.address; }

private:
    Architecture architecture_;
    uint64_t base_;
    std::vector<Instruction> instructions_;
    std::vector<int32_t> by_word_;
};

// Name and operands as numbers, for messages; targets of branches count from an address of the
// code.
std::string text_of(const Instruction& instruction, uint32_t origin = 0);

// All rows of instructions.def.
std::span<const InstructionInfo> instruction_table();

// Null for an opcode that the architecture does not have.
const InstructionInfo*
find_instruction(Architecture architecture, Encoding encoding, unsigned opcode);

} // namespace ckprof::emulator
