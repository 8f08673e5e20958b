// SPDX-License-Identifier: MIT
// Sources and results of vector instructions with modifiers: sub-dword selection, values of other
// lanes, halves of registers, signs, denormals, output modifiers and clamping.
#pragma once

#include "core/wave.hpp"
#include "groups/vector_types.hpp"

namespace ckprof::emulator {

// The host rounds as the wave's mode says as long as this lives.
class HostRounding
{
public:
    HostRounding(const Mode& mode, Format format)
        : HostRounding(format == Format::float32 ? mode.round_32 : mode.round_64)
    {}
    explicit HostRounding(unsigned direction); // as in Mode
    ~HostRounding();
    HostRounding(const HostRounding&)            = delete;
    HostRounding& operator=(const HostRounding&) = delete;

private:
    bool changed_;
};

// Lanes that get results: the active ones but for those that a cross-lane source masks or leaves.
LaneMask written_lanes(const Wave& wave, const Instruction& instruction);

// One or two registers of a source with all modifiers applied.
void read_source(const Wave& wave,
                 const Instruction& instruction,
                 unsigned source,
                 Format format,
                 VectorRegister* registers);

// Flushes denormals, multiplies and clamps as instruction and mode say; nothing for integers.
void modify_result(const Wave& wave,
                   const Instruction& instruction,
                   Format format,
                   VectorRegister* registers);

void flush_denormals(VectorRegister* registers, Format format);

// Applies the modifiers of the result and writes it; `keep`: the other half of 16 bits stays.
void write_result(Wave& wave,
                  const Instruction& instruction,
                  Format format,
                  bool keep,
                  VectorRegister* registers,
                  LaneMask lanes);

} // namespace ckprof::emulator
