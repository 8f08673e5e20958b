// SPDX-License-Identifier: MIT
#include "timing/recorder.hpp"

#include <algorithm>
#include <bit>

#include "isa/decoder.hpp"
#include "timing/bank_conflicts.hpp"

namespace ckprof::emulator {

Recorder::Recorder(const Machine& machine, const Program& program, unsigned sharing)
    : machine_(machine),
      first_(program.instructions().data()),
      cache_lines_(std::max(1U, machine.cache_bytes / machine.line_bytes / std::max(1U, sharing)))
{}

void Recorder::workgroup_begins(Workgroup& group)
{
    trace_ = {};
    trace_.waves.resize(group.waves.size());
    fetched_.clear();
    written_.clear();
    fetches_ = 0;
}

void Recorder::before(Wave& wave, const Instruction& instruction)
{
    trace_.waves[wave.number].steps.push_back({static_cast<uint32_t>(&instruction - first_), -1});
    accessed_ = false;
}

void Recorder::accesses(Wave&, const Instruction&, const MemoryAccess& access)
{
    if(!accessed_)
    {
        accessed_ = true;
        work_     = {};
        lines_.clear();
    }
    work_.bytes += access.bytes * static_cast<unsigned>(std::popcount(access.lanes));
    work_.store |= access.access != Access::read;
    if(access.space == Space::lds)
    {
        const LdsCycles cycles = lds_cycles(access.address,
                                            access.lanes,
                                            access.bytes,
                                            access.access == Access::read,
                                            machine_.lds_banks,
                                            machine_.lds_cycle_bytes);
        work_.lds_cycles += cycles.all;
        work_.conflict_cycles += cycles.spared;
    }
    else if(access.space == Space::global)
        note_lines(access);
}

void Recorder::note_lines(const MemoryAccess& access)
{
    uint64_t last = ~uint64_t{0};
    for(LaneMask lanes = access.lanes; lanes != 0; lanes &= lanes - 1)
    {
        const uint64_t begin = access.address[std::countr_zero(lanes)];
        for(uint64_t line = begin / machine_.line_bytes;
            line <= (begin + access.bytes - 1) / machine_.line_bytes;
            ++line)
            if(line != last)
            {
                lines_.push_back(line);
                last = line;
            }
    }
}

void Recorder::after(Wave& wave, const Instruction& instruction)
{
    if(!accessed_) return;
    accessed_ = false;
    std::ranges::sort(lines_);
    lines_.erase(std::unique(lines_.begin(), lines_.end()), lines_.end());
    if(instruction.info->encoding == Encoding::smem) lines_.clear(); // of another cache
    work_.lines = static_cast<uint32_t>(lines_.size());
    for(const uint64_t line : lines_)
    {
        if(work_.store)
        {
            ++work_.missed; // written through
            trace_.lines_written += written_.emplace(line, true).second ? 1 : 0;
            continue;
        }
        const auto [known, fresh] = fetched_.emplace(line, fetches_);
        if(!fresh && fetches_ - known->second < cache_lines_) continue;
        known->second = fetches_++;
        ++work_.missed;
        trace_.lines_read += fresh ? 1 : 0;
    }
    if(!lines_.empty())
        // 16 lanes give their addresses in a cycle
        work_.cache_cycles = std::max(
            {4U, work_.bytes / machine_.cache_cycle_bytes, static_cast<unsigned>(lines_.size())});
    WaveTrace& trace          = trace_.waves[wave.number];
    trace.steps.back().memory = static_cast<int32_t>(trace.memory.size());
    trace.memory.push_back(work_);
}

GroupTrace Recorder::take() { return std::move(trace_); }

} // namespace ckprof::emulator
