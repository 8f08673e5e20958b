// SPDX-License-Identifier: MIT
#include <string>

#include "checks/checkers.hpp"
#include "checks/lds_history.hpp"
#include "checks/per_workgroup.hpp"
#include "core/errors.hpp"
#include "core/workgroup.hpp"
#include "isa/decoder.hpp"

namespace ckprof::emulator {
namespace {

class RaceChecker : public Observer
{
public:
    explicit RaceChecker(const CheckContext& context) : context_(context) {}

    void workgroup_begins(Workgroup& group) override
    {
        Group& mine           = groups_.of(&group);
        const auto& [x, y, z] = group.id;
        const auto& grid      = group.launch->grid;
        mine.number           = x + grid[0] * (y + grid[1] * z);
        mine.barriers         = 0;
        mine.lds.begin(group);
    }

    void accesses(Wave& wave, const Instruction& instruction, const MemoryAccess& access) override
    {
        if(access.space == Space::lds)
            of(wave).lds.access(wave, instruction, access, report_);
        else if(access.space == Space::global)
            for(int lane = 0; lane < lane_count; ++lane)
                if((access.lanes >> lane & 1) != 0)
                    note_global(wave, instruction, access, access.address[lane]);
    }

    void delivers(Wave& wave, const PendingOperation& operation) override
    {
        if(!operation.instruction->to_lds) of(wave).lds.deliver(wave, operation);
    }

    void passes_barrier(Workgroup& group) override
    {
        Group& mine = groups_.of(&group);
        ++mine.barriers;
        mine.lds.pass(group, report_);
    }

private:
    struct Group
    {
        LdsHistory lds;
        uint32_t barriers = 0, number = 0;
    };

    Group& of(const Wave& wave) { return groups_.of(wave.group); }

    void note_global(Wave& wave,
                     const Instruction& instruction,
                     const MemoryAccess& access,
                     uint64_t address)
    {
        const Group& group = of(wave);
        const Actor actor{group.number,
                          static_cast<uint16_t>(wave.number),
                          static_cast<uint16_t>(group.barriers),
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

    void report(Wave& wave, const Instruction& instruction, const Conflict& conflict)
    {
        if(context_.log.again("races", instruction)) return;
        const Instruction& other = wave.program->from(conflict.other_address);
        context_.log.add("races",
                         std::string(conflict.writes ? "writes" : "reads") + " byte " +
                             std::to_string(conflict.byte) + " of LDS, " +
                             (conflict.other_wrote ? "written" : "read") + " by wave " +
                             std::to_string(conflict.other_wave) + " (" +
                             instruction_at(wave, other) +
                             ") with no barrier between that both have waited for",
                         wave,
                         instruction,
                         &other);
    }

    CheckContext context_;
    PerWorkgroup<Group> groups_;
    const LdsHistory::Report report_ =
        [this](Wave& wave, const Instruction& instruction, const Conflict& conflict) {
            report(wave, instruction, conflict);
        };
};

} // namespace

std::unique_ptr<Observer> make_race_checker(const CheckContext& context)
{ return std::make_unique<RaceChecker>(context); }

} // namespace ckprof::emulator
