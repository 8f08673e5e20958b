// SPDX-License-Identifier: MIT
#include "core/errors.hpp"

#include <cstdio>

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

std::string place_of(const Wave& wave, const Instruction& instruction)
{
    std::string text = text_of(instruction) + " at " + hexadecimal(instruction.address);
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
