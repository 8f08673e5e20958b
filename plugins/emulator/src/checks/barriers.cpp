// SPDX-License-Identifier: MIT
#include <bit>
#include <string>
#include <vector>

#include "checks/checkers.hpp"
#include "checks/per_workgroup.hpp"
#include "core/errors.hpp"
#include "core/workgroup.hpp"

namespace ckprof::emulator {
namespace {

// A barrier counts the waves that arrive, wherever in the code: that waves meet at different ones
// is no fault, and how kernels keep waves a step apart.
class BarrierChecker : public Observer
{
public:
    explicit BarrierChecker(const CheckContext& context) : context_(context) {}

    void workgroup_begins(Workgroup& group) override
    {
        auto& lanes = lanes_.of(&group);
        lanes.clear();
        for(const Wave& wave : group.waves) lanes.push_back(wave.exec());
    }

    void arrives_at_barrier(Wave& wave, const Instruction& barrier) override
    {
        const LaneMask all = lanes_.of(wave.group)[wave.number];
        if(wave.exec() == all) return;
        context_.log.add("barriers",
                         "a barrier with " + std::to_string(std::popcount(wave.exec())) +
                             " of the wave's " + std::to_string(std::popcount(all)) +
                             " lanes: it counts waves, so that the others, at the next barrier "
                             "that they reach, count as one more",
                         wave,
                         barrier);
    }

    // Waves that have ended are not waited for, on the device either; their barriers are missing.
    void passes_barrier(Workgroup& group) override
    {
        const Wave *ended = nullptr, *waits = nullptr;
        for(const Wave& wave : group.waves)
            if(const Wave*& first = wave.state == WaveState::ended ? ended : waits;
               first == nullptr)
                first = &wave;
        if(ended == nullptr || waits == nullptr) return;
        const Instruction& end = *(ended->pc - 1);
        context_.log.add("barriers",
                         "a barrier that wave " + std::to_string(ended->number) +
                             " never reaches: it has ended (" + instruction_at(*ended, end) + ")",
                         *waits,
                         *(waits->pc - 1),
                         &end);
    }

private:
    CheckContext context_;
    // that waves begin with
    PerWorkgroup<std::vector<LaneMask>> lanes_;
};

} // namespace

std::unique_ptr<Observer> make_barrier_checker(const CheckContext& context)
{ return std::make_unique<BarrierChecker>(context); }

} // namespace ckprof::emulator
