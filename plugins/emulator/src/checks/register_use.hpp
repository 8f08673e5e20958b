// SPDX-License-Identifier: MIT
// Which registers an instruction reads and writes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isa/decoder.hpp"

namespace ckprof::emulator {

struct RegisterUse
{
    uint16_t number = 0; // vector: as in Operand::number; scalar: 0 to 127
    uint8_t dwords  = 0;
    bool scalar     = false;
    bool read       = false;
    bool written    = false;
    bool address    = false; // of memory, not data
};

// A handful per instruction, found once per program.
class RegisterUses
{
public:
    explicit RegisterUses(const Program& program);
    std::span<const RegisterUse> of(const Instruction& instruction) const
    {
        const auto index = static_cast<size_t>(&instruction - first_);
        return {all_.data() + begin_[index], begin_[index + 1] - begin_[index]};
    }

private:
    const Instruction* first_;
    std::vector<RegisterUse> all_;
    std::vector<size_t> begin_;
};

} // namespace ckprof::emulator
