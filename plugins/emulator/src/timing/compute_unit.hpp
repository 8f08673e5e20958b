// SPDX-License-Identifier: MIT
// One compute unit that executes what some workgroups were seen to execute, cycle by cycle.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/decoder.hpp"
#include "timing/machine.hpp"
#include "timing/profile.hpp"
#include "timing/stall.hpp"
#include "timing/trace.hpp"

namespace ckprof::emulator {

struct UnitTime
{
    double cycles = 0; // from the begin to the end of the last workgroup
    // what extrapolated iterations may be wrong by
    double error_cycles = 0;
    std::array<double, unit_count> busy{}; // of units of the whole compute unit: at most `cycles`;
                                           // of those of a SIMD: at most four times as many
    std::array<double, stall_count> stalled{}; // summed over waves
    double steps       = 0;
    double conflicts   = 0; // cycles of LDS
    double cache_lines = 0, missed_lines = 0;
};

// What a program's instructions cost, found once.
class ProgramCosts
{
public:
    ProgramCosts(const Machine& machine, const Program& program);

    struct Entry
    {
        Cost cost;
        uint16_t read[4] = {}, reads[4] = {}; // first vector registers and how many
        uint16_t write = 0, writes = 0;
        uint16_t accumulator = 0xffff;              // index in read[] that may be chained; none
        int8_t vector_limit = -1, local_limit = -1; // of s_waitcnt and s_endpgm
        uint8_t pause = 0;                          // cycles of s_nop
        bool barrier = false, lds_data = false, scalar_load = false;
    };
    const Entry& of(uint32_t instruction) const { return entries_[instruction]; }
    size_t size() const { return entries_.size(); }
    uint32_t address(uint32_t instruction) const { return addresses_[instruction]; }
    uint32_t end(uint32_t instruction) const
    { return addresses_[instruction] + bytes_[instruction]; }

private:
    std::vector<Entry> entries_;
    std::vector<uint32_t> addresses_;
    std::vector<uint8_t> bytes_;
};

// As many workgroups as there are slots begin at the same time; another one begins where one ends.
// Waves go to the SIMDs in turn. `profile`, if there is one, gets what they do in detail.
UnitTime simulate(const Machine& machine,
                  const ProgramCosts& costs,
                  std::span<const GroupTrace* const> groups,
                  unsigned slots,
                  Profile* profile = nullptr);

} // namespace ckprof::emulator
