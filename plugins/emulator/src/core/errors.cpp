// SPDX-License-Identifier: MIT
#include "core/errors.hpp"

#include <cstdio>
#include <cstdlib>

#include "core/workgroup.hpp"
#include "isa/decoder.hpp"

namespace ckprof::emulator {
namespace {

std::string hexadecimal(uint64_t value)
{
    char text[24];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

std::string what_is_wrong(const Instruction& instruction)
{
    return instruction.info == nullptr
               ? "an opcode that this architecture does not have"
               : std::string("an instruction that is not emulated: ") + instruction.info->name;
}

} // namespace

int64_t offset_in_kernel(const Wave& wave, const Instruction& instruction)
{
    const bool launched = wave.group != nullptr && wave.group->launch != nullptr;
    return int64_t{instruction.address} - (launched ? wave.group->launch->kernel_offset : 0);
}

std::string offset_text(int64_t offset)
{ return (offset < 0 ? "-" : "") + hexadecimal(static_cast<uint64_t>(std::abs(offset))); }

std::string instruction_at(const Wave& wave, const Instruction& instruction)
{
    const int64_t offset = offset_in_kernel(wave, instruction);
    return text_of(instruction, static_cast<uint32_t>(instruction.address - offset)) + " at " +
           offset_text(offset);
}

std::string place_of(const Wave& wave, const Instruction& instruction)
{
    const std::string text = instruction_at(wave, instruction);
    if(wave.group == nullptr || wave.group->launch == nullptr) return text;
    const auto& id = wave.group->id;
    return text + " of kernel " + wave.group->launch->kernel + ", workgroup (" +
           std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " + std::to_string(id[2]) +
           "), wave " + std::to_string(wave.number);
}

DeviceError::DeviceError(Fault kind,
                         const std::string& what,
                         const Wave& wave,
                         const Instruction& instruction)
    : std::runtime_error(what + ": " + place_of(wave, instruction)),
      kind_(kind),
      text_(std::runtime_error::what())
{}

IllegalInstruction::IllegalInstruction(const Wave& wave, const Instruction& instruction)
    : DeviceError(Fault::illegal_instruction, what_is_wrong(instruction), wave, instruction)
{}

MemoryFault::MemoryFault(
    const Wave& wave, const Instruction& instruction, uint64_t address, unsigned bytes, bool write)
    : DeviceError(Fault::memory,
                  std::string("memory access fault: ") + (write ? "write of " : "read of ") +
                      std::to_string(bytes) + " bytes at " + hexadecimal(address),
                  wave,
                  instruction),
      address_(address)
{}

} // namespace ckprof::emulator
