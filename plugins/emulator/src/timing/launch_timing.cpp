// SPDX-License-Identifier: MIT
#include "timing/launch_timing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "checks/source_line.hpp"
#include "timing/loops.hpp"
#include "timing/recorder.hpp"

namespace ckprof::emulator {
namespace {

// Rounds of workgroups that are simulated; further ones take as long as the last of them.
constexpr uint64_t most_rounds = 2;
// Iterations that are left of loops at least.
constexpr size_t least_iterations = 8;
// Steps of a wave that are watched at most.
constexpr size_t most_watched = 4000;

GroupTrace record(const TimingOptions& options,
                  const Dispatch& dispatch,
                  const Launch& launch,
                  uint64_t index,
                  unsigned sharing)
{
    Recorder recorder(options.machine, *launch.program, sharing);
    Workgroup group;
    group.observer = &recorder;
    dispatch.prepare(group, index, launch);
    recorder.workgroup_begins(group);
    uint64_t order = 0;
    while(execute(group, order) != Progress::ended);
    return recorder.take();
}

// a + (b - a) * factor for everything that is counted.
UnitTime between(const UnitTime& a, const UnitTime& b, double factor)
{
    UnitTime result   = a;
    const auto extend = [&](double& to, double then) { to += (then - to) * factor; };
    extend(result.cycles, b.cycles);
    for(size_t u = 0; u < unit_count; ++u) extend(result.busy[u], b.busy[u]);
    for(size_t s = 0; s < stall_count; ++s) extend(result.stalled[s], b.stalled[s]);
    extend(result.steps, b.steps);
    extend(result.conflicts, b.conflicts);
    extend(result.cache_lines, b.cache_lines);
    extend(result.missed_lines, b.missed_lines);
    return result;
}

// Watches the iteration in the middle of the loop that most steps belong to, or the first steps.
void watch(const WaveTrace& wave, Profile& profile)
{
    const SteadyLoop loop = find_steady_loop(wave);
    if(loop.period == 0)
    {
        profile.begin = 0;
        profile.end   = std::min(wave.steps.size(), most_watched);
        return;
    }
    profile.begin = loop.begin + loop.iterations / 2 * loop.period;
    profile.end   = profile.begin + std::min(loop.period, most_watched);
}

void add(MemoryWork& sum, const MemoryWork& work)
{
    sum.lds_cycles += work.lds_cycles;
    sum.conflict_cycles += work.conflict_cycles;
    sum.cache_cycles += work.cache_cycles;
    sum.lines += work.lines;
    sum.missed += work.missed;
    sum.bytes += work.bytes;
    sum.store |= work.store;
}

std::vector<LaunchTiming::Executed> executed(const Machine& machine,
                                             const GroupTrace& group,
                                             const Launch& launch,
                                             const std::vector<Spent>& spent)
{
    const auto instructions = launch.program->instructions();
    std::vector<LaunchTiming::Executed> all(instructions.size());
    for(const WaveTrace& wave : group.waves)
        for(const Step& step : wave.steps)
        {
            LaunchTiming::Executed& entry = all[step.instruction];
            entry.executions += 1;
            if(step.memory >= 0) add(entry.memory, wave.memory[static_cast<size_t>(step.memory)]);
        }
    const SteadyLoop loop = find_steady_loop(group.waves[0]);
    for(size_t n = loop.begin; n < loop.begin + loop.period; ++n)
        all[group.waves[0].steps[n].instruction].in_loop = true;
    std::vector<uint64_t> addresses;
    for(uint32_t n = 0; n < all.size(); ++n)
    {
        all[n].address     = instructions[n].address;
        all[n].instruction = n;
        if(all[n].executions != 0) addresses.push_back(launch.code_address + all[n].address);
    }
    std::erase_if(all, [](const auto& entry) { return entry.executions == 0; });
    const std::vector<std::string> sources = source_lines(launch.code_object, addresses);
    for(size_t n = 0; n < all.size(); ++n)
    {
        all[n].unit  = machine.cost_of(instructions[all[n].instruction]).unit;
        all[n].text  = text_of(instructions[all[n].instruction]);
        all[n].spent = spent[all[n].instruction];
        if(n < sources.size()) all[n].source = sources[n];
    }
    return all;
}

class UnitTimes
{
public:
    UnitTimes(const TimingOptions& options, const Program& program)
        : options_(options),
          costs_(options.machine, program)
    {}

    // Of so many workgroups that execute what one did, on a compute unit with so many slots.
    UnitTime
    of(const GroupTrace& group, uint64_t count, unsigned slots, Profile* profile = nullptr) const
    {
        const size_t iterations = common_iterations(group);
        const uint64_t steps    = group.steps() * count;
        if(steps <= options_.most_steps || iterations <= 4 * least_iterations)
            return whole(group, count, slots, profile);
        // linear in the number of iterations from three points on, whose slopes tell how well
        const double share  = static_cast<double>(options_.most_steps) / static_cast<double>(steps);
        const size_t middle = std::max(
            2 * least_iterations, static_cast<size_t>(static_cast<double>(iterations) * share / 3));
        if(3 * middle >= 2 * iterations) return whole(group, count, slots, profile);
        const size_t few = middle / 2, many = middle + middle / 2;
        const UnitTime a    = whole(shortened(group, few), count, slots, nullptr),
                       b    = whole(shortened(group, middle), count, slots, nullptr),
                       c    = whole(shortened(group, many), count, slots, profile);
        const auto rest     = static_cast<double>(iterations - few);
        UnitTime result     = between(a, c, rest / static_cast<double>(many - few));
        const double early  = (b.cycles - a.cycles) / static_cast<double>(middle - few),
                     late   = (c.cycles - b.cycles) / static_cast<double>(many - middle);
        result.error_cycles = std::abs(late - early) * static_cast<double>(iterations - many);
        return result;
    }

private:
    UnitTime whole(const GroupTrace& group, uint64_t count, unsigned slots, Profile* profile) const
    {
        if(profile != nullptr) watch(group.waves[0], *profile);
        const std::vector<const GroupTrace*> groups(count, &group);
        return simulate(options_.machine, costs_, groups, slots, profile);
    }

    const TimingOptions& options_;
    ProgramCosts costs_;
};

} // namespace

Occupancy
occupancy(const Machine& machine, const Kernel& kernel, unsigned waves, unsigned lds_bytes)
{
    const auto fitting = [](unsigned available, unsigned needed, unsigned grain) {
        return available / ((std::max(needed, 1U) + grain - 1) / grain * grain);
    };
    const auto of_waves = [&](unsigned per_simd) {
        return waves <= machine.simds ? per_simd * machine.simds / waves
                                      : per_simd / ((waves + machine.simds - 1) / machine.simds);
    };
    // of several equal limits the first is named: it is what a kernel can change
    std::vector<Occupancy> limits{
        {fitting(machine.lds_bytes, lds_bytes, machine.lds_grain), "lds"},
        {of_waves(fitting(machine.vector_registers, kernel.vector_registers, machine.vector_grain)),
         "vgpr"},
        {of_waves(fitting(machine.scalar_registers, kernel.scalar_registers, machine.scalar_grain)),
         "sgpr"},
        {of_waves(machine.waves_per_simd), "waves"}};
    if(waves > 1) limits.insert(limits.end() - 1, {machine.workgroups_per_cu, "workgroup"});
    return *std::ranges::min_element(limits, {}, &Occupancy::workgroups);
}

LaunchTiming time_launch(const TimingOptions& options,
                         const Dispatch& dispatch,
                         const Launch& launch,
                         const Kernel& kernel,
                         unsigned lds_bytes)
{
    LaunchTiming result;
    result.kernel          = kernel.name;
    result.grid            = launch.grid;
    result.block           = launch.block;
    result.workgroups      = dispatch.workgroups();
    const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
    const unsigned waves   = (threads + lane_count - 1) / lane_count;
    result.occupancy       = occupancy(options.machine, kernel, waves, lds_bytes);
    result.needs           = {{"vgprs", kernel.vector_registers},
                              {"agprs", kernel.accumulators},
                              {"sgprs", kernel.scalar_registers},
                              {"vgpr_spills", kernel.vector_spills},
                              {"sgpr_spills", kernel.scalar_spills},
                              {"lds_bytes", lds_bytes},
                              {"scratch_bytes", kernel.scratch_lane_bytes}};
    const uint64_t per_unit =
        (result.workgroups + options.compute_units - 1) / options.compute_units;
    const auto slots = static_cast<unsigned>(
        std::min<uint64_t>(per_unit, std::max(1U, result.occupancy.workgroups)));
    result.queue = per_unit;

    const GroupTrace inside = record(options, dispatch, launch, result.workgroups / 2, slots);
    result.lines_read       = inside.lines_read;
    result.lines_written    = inside.lines_written;
    result.group_steps      = inside.steps();
    result.iterations       = common_iterations(inside);
    const UnitTimes times(options, *launch.program);
    const uint64_t simulated = std::min<uint64_t>(per_unit, most_rounds * slots);
    result.time = times.of(inside, simulated, slots, options.profile ? &result.profile : nullptr);
    if(simulated < per_unit)
    {
        // one round more takes what the last one took
        const UnitTime first = times.of(inside, simulated - slots, slots);
        const double error   = result.time.error_cycles;
        const double factor  = static_cast<double>(per_unit - (simulated - slots)) / slots;
        result.time          = between(first, result.time, factor);
        result.time.error_cycles =
            error * static_cast<double>(per_unit) / static_cast<double>(simulated);
    }
    result.alone = slots == 1 && per_unit == 1 ? result.time : times.of(inside, 1, 1);
    result.edge =
        result.workgroups == 1
            ? result.alone
            : times.of(record(options, dispatch, launch, result.workgroups - 1, slots), 1, 1);
    if(options.profile)
    {
        result.executed = executed(options.machine, inside, launch, result.profile.spent);
        for(Span& span : result.profile.spans)
            span.address = launch.program->instructions()[span.instruction].address;
    }
    return result;
}

} // namespace ckprof::emulator
