// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "checks/checkers.hpp"
#include "checks/lds_history.hpp"
#include "checks/per_workgroup.hpp"
#include "core/errors.hpp"
#include "core/workgroup.hpp"
#include "isa/decoder.hpp"

namespace ckprof::emulator {
namespace {

// vmcnt counts the loads of one wave: that a wave waits says nothing of the loads of others. These
// have arrived for it once their own waves have waited and a barrier has come after.
class AsyncChecker : public Observer
{
public:
    explicit AsyncChecker(const CheckContext& context) : context_(context) {}

    void workgroup_begins(Workgroup& group) override { groups_.of(&group).begin(group); }

    void accesses(Wave& wave, const Instruction& instruction, const MemoryAccess& access) override
    {
        if(access.space == Space::lds) of(wave).access(wave, instruction, access, report_);
    }

    void after(Wave& wave, const Instruction& instruction) override
    {
        if(instruction.to_lds) of(wave).load(wave, instruction, report_);
    }

    void delivers(Wave& wave, const PendingOperation& operation) override
    { of(wave).deliver(wave, operation); }

    void arrives_at_barrier(Wave& wave, const Instruction& barrier) override
    { of(wave).arrive(wave, barrier); }

    void passes_barrier(Workgroup& group) override { groups_.of(&group).pass(group, report_); }

private:
    LdsHistory& of(const Wave& wave) { return groups_.of(wave.group); }

    void report(Wave& wave, const Instruction& instruction, const Conflict& conflict)
    {
        if(conflict.load == nullptr && !instruction.to_lds) return; // a race
        if(context_.log.again("async", instruction)) return;
        const Instruction& other = wave.program->from(conflict.other_address);
        const std::string byte   = " byte " + std::to_string(conflict.byte) + " of LDS, ";
        const std::string whose  = conflict.other_wave == wave.number
                                       ? "this wave"
                                       : "wave " + std::to_string(conflict.other_wave);
        const std::string by     = whose + " (" + instruction_at(wave, other) + ")";
        const std::string what   = instruction.to_lds ? "loads to" + byte
                                   : conflict.writes  ? "writes" + byte
                                                      : "reads" + byte;
        const std::string text = conflict.load == nullptr
                                     ? what + (conflict.other_wrote ? "written" : "read") + " by " +
                                           by + " with no barrier between that both have waited for"
                                     : what + "whose load by " + by + missing(wave, *conflict.load);
        context_.log.add("async", text, wave, instruction, &other);
    }

    // What would have let the load arrive before the access.
    static std::string missing(const Wave& wave, const LdsLoad& load)
    {
        const bool own          = load.wave == wave.number;
        const std::string whose = own ? "" : " of wave " + std::to_string(load.wave);
        const auto wait         = [&](uint32_t younger) {
            return "s_waitcnt vmcnt(" + std::to_string(younger) + ")" + whose;
        };
        if(load.crossed && !own)
            return " was outstanding at " + instruction_at(wave, wave.program->from(load.barrier)) +
                   ": missing is " + wait(load.younger) +
                   " before that, or a barrier after the wait that it has";
        if(!load.outstanding) return " has its wait: missing is a barrier after that";
        const uint32_t younger = younger_operations(wave.group->waves[load.wave], load.sequence);
        return " is outstanding: missing is " + wait(younger) +
               (own ? "" : ", and a barrier after that");
    }

    CheckContext context_;
    PerWorkgroup<LdsHistory> groups_;
    const LdsHistory::Report report_ =
        [this](Wave& wave, const Instruction& instruction, const Conflict& conflict) {
            report(wave, instruction, conflict);
        };
};

} // namespace

std::unique_ptr<Observer> make_async_checker(const CheckContext& context)
{
    const auto instructions = context.program.instructions();
    // most kernels load to registers alone
    if(std::ranges::none_of(instructions, &Instruction::to_lds))
        return std::make_unique<Observer>();
    return std::make_unique<AsyncChecker>(context);
}

} // namespace ckprof::emulator
