// SPDX-License-Identifier: MIT
// Undefined bits on their way between registers and memory.
#pragma once

#include <string>
#include <vector>

#include "checks/definedness/rules.hpp"
#include "checks/definedness/shadow.hpp"
#include "core/wave.hpp"

namespace ckprof::emulator {

// For one thread of a launch.
class MemoryDefinedness
{
public:
    // Follows the bytes of an access. Returns what is wrong about it: empty, or what completes the
    // text of a finding.
    std::string follow(const Wave& wave,
                       const Instruction& instruction,
                       const MemoryAccess& access,
                       const DefinednessRule& rule,
                       WaveShadow& shadow,
                       std::vector<uint8_t>& lds);

private:
    // Bytes of one lane.
    struct Bytes
    {
        Space space;
        uint64_t address;
        unsigned count;
        DefinedBytes* global; // null: all are defined
        std::vector<uint8_t>& lds;
        WaveShadow& shadow;

        uint8_t undefined(unsigned byte) const;
        // Of up to four of them.
        uint32_t undefined(unsigned from, unsigned count) const;
        bool all_defined() const;
        void set(unsigned byte, uint8_t undefined);
    };

    DefinedBytes* global(const Wave& wave, uint64_t address);

    DefinedBytes* recent_ = nullptr;
};

} // namespace ckprof::emulator
