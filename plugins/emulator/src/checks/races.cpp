// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "checks/checkers.hpp"
#include "core/errors.hpp"
#include "core/workgroup.hpp"

namespace ckprof::emulator {
namespace {

// Who touched a byte of LDS last. Phases count barriers over all workgroups of the thread, so that
// nothing has to be cleared between two of them.
struct LdsByte
{
    uint32_t write_phase = 0, read_phase = 0;
    int32_t write_address = 0, read_address = 0; // of instructions, from the kernel on
    uint16_t writer  = 0;
    bool atomic      = false;
    uint32_t readers = 0; // bit per wave
};

// An operation on LDS that no wait has covered yet.
struct Outstanding
{
    const Instruction* instruction;
    uint64_t address;
    unsigned bytes;
    Access access;
};

class RaceChecker : public Observer
{
public:
    explicit RaceChecker(const CheckContext& context) : context_(context) {}

    void workgroup_begins(Workgroup& group) override
    {
        ++phase_;
        barriers_ = 0;
        if(lds_.size() < group.lds.size()) lds_.resize(group.lds.size());
        outstanding_.resize(std::max(outstanding_.size(), group.waves.size()));
        for(auto& list : outstanding_) list.clear();
        const auto& [x, y, z] = group.id;
        const auto& grid      = group.launch->grid;
        group_                = x + grid[0] * (y + grid[1] * z);
    }

    void accesses(Wave& wave, const Instruction& instruction, const MemoryAccess& access) override
    {
        if(access.space == Space::scratch) return;
        for(int lane = 0; lane < lane_count; ++lane)
        {
            if((access.lanes >> lane & 1) == 0) continue;
            if(access.space == Space::global)
                note_global(wave, instruction, access, access.address[lane]);
            else
            {
                note_lds(wave, instruction, access.access, access.address[lane], access.bytes);
                outstanding_[wave.number].push_back(
                    {&instruction, access.address[lane], access.bytes, access.access});
            }
        }
    }

    // The wave knows now that the operation is done.
    void delivers(Wave& wave, const PendingOperation& operation) override
    {
        auto& list = outstanding_[wave.number];
        // operations are done in order: the first entries are this one's
        auto end = list.begin();
        while(end != list.end() && end->instruction == operation.instruction) ++end;
        if(end == list.begin())
            std::erase_if(
                list, [&](const Outstanding& o) { return o.instruction == operation.instruction; });
        else
            list.erase(list.begin(), end);
    }

    void passes_barrier(Workgroup& group) override
    {
        ++phase_;
        ++barriers_;
        // what a wave did not wait for can still happen after the barrier
        for(Wave& wave : group.waves)
            for(const Outstanding& o : outstanding_[wave.number])
                note_lds(wave, *o.instruction, o.access, o.address, o.bytes);
    }

private:
    void note_global(Wave& wave,
                     const Instruction& instruction,
                     const MemoryAccess& access,
                     uint64_t address)
    {
        const Actor actor{group_,
                          static_cast<uint16_t>(wave.number),
                          static_cast<uint16_t>(barriers_),
                          static_cast<int32_t>(offset_in_kernel(wave, instruction))};
        const std::string race = context_.shadow.note(address,
                                                      access.bytes,
                                                      actor,
                                                      access.access != Access::read,
                                                      access.access == Access::atomic);
        if(!race.empty())
            context_.log.add("races",
                             std::string(access.access == Access::read ? "reads" : "writes") +
                                 " bytes of global memory that are " + race,
                             wave,
                             instruction);
    }

    void note_lds(
        Wave& wave, const Instruction& instruction, Access access, uint64_t address, unsigned bytes)
    {
        const bool write = access != Access::read, atomic = access == Access::atomic;
        const uint32_t me = 1U << wave.number % 32;
        for(uint64_t at = address; at < address + bytes && at < lds_.size(); ++at)
        {
            LdsByte& byte = lds_[at];
            if(byte.write_phase == phase_ && byte.writer != wave.number && !(atomic && byte.atomic))
                report(wave, instruction, write, at, "written", byte.writer, byte.write_address);
            if(write && byte.read_phase == phase_ && (byte.readers & ~me) != 0)
                report(wave,
                       instruction,
                       write,
                       at,
                       "read",
                       first_bit(byte.readers & ~me),
                       byte.read_address);
            if(write)
            {
                byte.write_phase   = phase_;
                byte.writer        = static_cast<uint16_t>(wave.number);
                byte.write_address = static_cast<int32_t>(offset_in_kernel(wave, instruction));
                byte.atomic        = atomic;
            }
            else
            {
                byte.readers      = (byte.read_phase == phase_ ? byte.readers : 0) | me;
                byte.read_phase   = phase_;
                byte.read_address = static_cast<int32_t>(offset_in_kernel(wave, instruction));
            }
        }
    }

    static unsigned first_bit(uint32_t bits) { return static_cast<unsigned>(__builtin_ctz(bits)); }

    void report(Wave& wave,
                const Instruction& instruction,
                bool write,
                uint64_t at,
                const char* what,
                unsigned other,
                int32_t address)
    {
        char text[160];
        std::snprintf(text,
                      sizeof(text),
                      "%s byte %llu of LDS, %s by wave %u at %s with no barrier between that "
                      "both have waited for",
                      write ? "writes" : "reads",
                      static_cast<unsigned long long>(at),
                      what,
                      other,
                      offset_text(address).c_str());
        context_.log.add("races", text, wave, instruction);
    }

    CheckContext context_;
    std::vector<LdsByte> lds_;
    std::vector<std::vector<Outstanding>> outstanding_;
    uint32_t phase_ = 0, barriers_ = 0, group_ = 0;
};

} // namespace

std::unique_ptr<Observer> make_race_checker(const CheckContext& context)
{ return std::make_unique<RaceChecker>(context); }

} // namespace ckprof::emulator
