// SPDX-License-Identifier: MIT
// Watches a workgroup and notes what its waves execute.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/observer.hpp"
#include "core/workgroup.hpp"
#include "timing/machine.hpp"
#include "timing/trace.hpp"

namespace ckprof::emulator {

class Recorder : public Observer
{
public:
    // `sharing`: workgroups that share the cache of vector memory.
    Recorder(const Machine& machine, const Program& program, unsigned sharing);

    void workgroup_begins(Workgroup& group) override;
    void before(Wave& wave, const Instruction& instruction) override;
    void after(Wave& wave, const Instruction& instruction) override;
    void accesses(Wave& wave, const Instruction& instruction, const MemoryAccess& access) override;

    GroupTrace take();

private:
    void note_lines(const MemoryAccess& access);

    const Machine& machine_;
    const Instruction* first_;
    uint64_t cache_lines_;
    GroupTrace trace_;
    // of the instruction that executes
    MemoryWork work_;
    bool accessed_ = false;
    std::vector<uint64_t> lines_;
    // A line is held until as many others were fetched as the cache has room for: fetches so far
    // when it was fetched last.
    std::unordered_map<uint64_t, uint64_t> fetched_;
    std::unordered_map<uint64_t, bool> written_;
    uint64_t fetches_ = 0;
};

} // namespace ckprof::emulator
