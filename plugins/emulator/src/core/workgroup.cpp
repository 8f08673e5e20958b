// SPDX-License-Identifier: MIT
#include "core/workgroup.hpp"

#include <algorithm>
#include <numeric>

#include "core/errors.hpp"

namespace ckprof::emulator {
namespace {

// Instructions after which a wave lets others go on: it may wait for what they write.
constexpr uint64_t slice = 1 << 20;

// What others of its workgroup wait at while a wave does not end.
std::string waiting_for(const Wave& wave)
{
    for(const Wave& other : wave.group->waves)
        if(other.state == WaveState::at_barrier)
            return ", for which wave " + std::to_string(other.number) + " waits at a barrier (" +
                   instruction_at(other, *(other.pc - 1)) + ")";
    return "";
}

template <bool observed>
void execute(Wave& wave)
{
    uint64_t count = 0;
    while(wave.state == WaveState::running && count < slice)
    {
        const Instruction& instruction = *wave.pc++;
        if constexpr(observed) wave.observer->before(wave, instruction);
        instruction.execute(wave, instruction);
        if constexpr(observed) wave.observer->after(wave, instruction);
        ++count;
    }
    wave.executed += count;
    if(wave.state == WaveState::running) wave.state = WaveState::yielded;
    const uint64_t budget = wave.group->launch->instruction_budget;
    if(budget != 0 && wave.executed > budget && wave.state != WaveState::ended)
        throw DeviceError(Fault::hang,
                          "no end after " + std::to_string(wave.executed) +
                              " instructions of a wave" + waiting_for(wave),
                          wave,
                          *wave.pc);
}

// xorshift64: the next number of a sequence that is never 0.
uint64_t drawn(uint64_t& state)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

} // namespace

Progress execute(Workgroup& group, uint64_t& order)
{
    std::vector<size_t> turns(group.waves.size());
    std::iota(turns.begin(), turns.end(), size_t{0});
    if(group.launch->reverse) std::ranges::reverse(turns);
    for(Wave& wave : group.waves)
        if(wave.state == WaveState::yielded) wave.state = WaveState::running;
    for(;;)
    {
        if(order != 0)
            for(size_t last = turns.size(); last > 1; --last)
                std::swap(turns[last - 1], turns[drawn(order) % last]);
        for(const size_t turn : turns)
        {
            Wave& wave = group.waves[turn];
            if(wave.state != WaveState::running) continue;
            if(wave.observer != nullptr)
                execute<true>(wave);
            else
                execute<false>(wave);
        }
        const auto in = [&](WaveState state) {
            return std::count_if(group.waves.begin(), group.waves.end(), [&](const Wave& wave) {
                return wave.state == state;
            });
        };
        if(in(WaveState::yielded) != 0) return Progress::waiting;
        const auto arrived = in(WaveState::at_barrier);
        if(arrived == 0) return Progress::ended;
        // waves that have ended count as arrived, as on the device
        if(group.observer != nullptr) group.observer->passes_barrier(group);
        for(Wave& wave : group.waves)
            if(wave.state == WaveState::at_barrier) wave.state = WaveState::running;
    }
}

} // namespace ckprof::emulator
