// SPDX-License-Identifier: MIT
// Waves that share LDS and barriers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/wave.hpp"

namespace ckprof::emulator {

// What all workgroups of a launch have in common.
struct Launch
{
    std::string kernel; // mangled name
    const Program* program = nullptr;
    DeviceMemory* memory   = nullptr;
    // file that the program comes from, and the address of the program's first word in it
    std::span<const std::byte> code_object;
    uint64_t code_address = 0;
    // of the kernel's symbol from the program's first word on
    uint32_t kernel_offset = 0;
    std::array<uint32_t, 3> grid{1, 1, 1};   // in workgroups
    std::array<uint32_t, 3> block{64, 1, 1}; // in work-items
    uint64_t instruction_budget = 0;         // of a wave; 0: without end
    uint64_t seed = 0;     // of the order of waves and workgroups; 0: as they are numbered ...
    bool reverse  = false; // ... or, the last one first, the other way round
};

struct Workgroup
{
    const Launch* launch = nullptr;
    std::array<uint32_t, 3> id{};
    std::vector<Wave> waves;
    std::vector<std::byte> lds;
    Observer* observer = nullptr;

    // Flat addresses with these upper halves are those of LDS and of scratch.
    static constexpr uint64_t shared_base  = uint64_t{0x10000} << 32;
    static constexpr uint64_t private_base = uint64_t{0x20000} << 32;
};

enum class Progress : uint8_t
{
    ended,
    waiting, // all its waves have yielded: others should go on first
};

// Executes until all waves have ended or have yielded; `order` draws the order of waves.
Progress execute(Workgroup& group, uint64_t& order);

} // namespace ckprof::emulator
