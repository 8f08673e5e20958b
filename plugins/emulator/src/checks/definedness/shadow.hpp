// SPDX-License-Identifier: MIT
// Which bits of a workgroup's registers and memories nothing has written.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/lanes.hpp"
#include "isa/instruction.hpp"

namespace ckprof::emulator {

// Set bits are undefined, in all of them.
struct WaveShadow
{
    std::vector<VectorRegister> vector = std::vector<VectorRegister>(512);
    std::array<uint32_t, 128> scalar{};
    bool scc = false;
    std::unordered_map<uint64_t, uint8_t> scratch; // written bytes: their undefined bits
    // what the last load under way brings to LDS
    std::array<VectorRegister, 4> to_lds{};
    // the last bytes of global memory that were loaded although nothing had written them
    uint64_t unwritten_address        = 0;
    const Instruction* unwritten_load = nullptr;
};

struct GroupShadow
{
    std::vector<WaveShadow> waves;
    std::vector<uint8_t> lds;
};

} // namespace ckprof::emulator
