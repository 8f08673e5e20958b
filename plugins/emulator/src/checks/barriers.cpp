// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "checks/checkers.hpp"
#include "core/errors.hpp"
#include "core/workgroup.hpp"

namespace ckprof::emulator {
namespace {

class BarrierChecker : public Observer
{
public:
    explicit BarrierChecker(const CheckContext& context) : context_(context) {}

    void workgroup_begins(Workgroup& group) override
    { arrived_.assign(group.waves.size(), nullptr); }

    void arrives_at_barrier(Wave& wave, const Instruction& barrier) override
    {
        const Workgroup& group = *wave.group;
        arrived_[wave.number]  = &barrier;
        for(const Wave& other : group.waves)
            if(other.state == WaveState::ended)
                return context_.log.add("barriers",
                                        "a barrier that wave " + std::to_string(other.number) +
                                            ", which has ended, never reaches",
                                        wave,
                                        barrier);
    }

    void passes_barrier(Workgroup& group) override
    {
        // waves that have ended count as arrived; those that wait elsewhere end up in different
        // parts
        const Instruction* first = nullptr;
        for(const Wave& wave : group.waves)
        {
            const Instruction* barrier = arrived_[wave.number];
            if(barrier == nullptr) continue;
            if(first == nullptr) first = barrier;
            if(barrier != first)
            {
                context_.log.add(
                    "barriers",
                    "waves of a workgroup meet at different barriers, another one at " +
                        offset_text(offset_in_kernel(wave, *first)),
                    wave,
                    *barrier);
                break;
            }
        }
        std::fill(arrived_.begin(), arrived_.end(), nullptr);
    }

private:
    CheckContext context_;
    std::vector<const Instruction*> arrived_;
};

} // namespace

std::unique_ptr<Observer> make_barrier_checker(const CheckContext& context)
{ return std::make_unique<BarrierChecker>(context); }

} // namespace ckprof::emulator
