// SPDX-License-Identifier: MIT
#include "timing/compute_unit.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <string_view>

#include "checks/register_use.hpp"

namespace ckprof::emulator {
namespace {

constexpr std::array<const char*, stall_count> stall_names{
    "unit", "result", "memory", "local", "barrier", "code"};

constexpr size_t vector_registers = 512;

} // namespace

const char* name_of(Stall stall) { return stall_names[static_cast<size_t>(stall)]; }

ProgramCosts::ProgramCosts(const Machine& machine, const Program& program)
{
    const RegisterUses uses(program);
    for(const Instruction& i : program.instructions())
    {
        Entry entry;
        entry.cost  = machine.cost_of(i);
        size_t next = 0;
        for(const RegisterUse& use : uses.of(i))
        {
            if(use.scalar) continue;
            if(use.written)
            {
                entry.write  = use.number;
                entry.writes = use.dwords;
            }
            if(use.read && next < 4)
            {
                entry.read[next]    = use.number;
                entry.reads[next++] = use.dwords;
            }
        }
        if(entry.cost.unit == Unit::matrix)
            for(uint16_t n = 0; n < next; ++n)
                if(entry.read[n] == entry.write && entry.reads[n] == entry.writes)
                    entry.accumulator = n;
        if(i.info != nullptr)
        {
            const std::string_view name = i.info->name;
            entry.barrier               = name == "s_barrier";
            entry.lds_data              = entry.cost.unit == Unit::lds;
            entry.scalar_load           = entry.cost.unit == Unit::message;
            if(name == "s_nop") entry.pause = static_cast<uint8_t>(4 * (i.immediate & 15));
            if(name == "s_waitcnt")
            {
                const unsigned bits = static_cast<uint16_t>(i.immediate);
                entry.vector_limit  = static_cast<int8_t>((bits & 15) | bits >> 14 << 4);
                entry.local_limit   = static_cast<int8_t>(bits >> 8 & 15);
            }
            // "The hardware implicitly executes S_WAITCNT 0 before executing this instruction":
            // manuals of the instruction sets, S_ENDPGM
            if(name == "s_endpgm") entry.vector_limit = entry.local_limit = 0;
        }
        entries_.push_back(entry);
        addresses_.push_back(i.address);
        bytes_.push_back(i.bytes);
    }
}

namespace {

struct WaveRun
{
    const WaveTrace* trace = nullptr;
    size_t next            = 0;
    size_t group = 0, simd = 0;
    double ready                       = 0; // when its next instruction may issue
    std::vector<double> register_ready = std::vector<double>(vector_registers, 0);
    std::vector<double> chained_ready  = std::vector<double>(vector_registers, 0);
    // completion of what is pending, in order; those before the index are done with
    std::vector<double> vector_memory, local_memory;
    size_t vector_done = 0, local_done = 0;
    bool at_barrier = false;
};

class Simulation
{
public:
    Simulation(const Machine& machine,
               const ProgramCosts& costs,
               std::span<const GroupTrace* const> groups,
               unsigned slots,
               Profile* profile)
        : machine_(machine),
          costs_(costs),
          given_(groups),
          profile_(profile)
    {
        vector_free_.resize(machine.simds);
        matrix_free_.resize(machine.simds);
        for(unsigned slot = 0; slot < slots; ++slot) begin_group(0);
    }

    UnitTime run()
    {
        while(!queue_.empty())
        {
            const size_t w = queue_.top().wave;
            queue_.pop();
            advance(w);
        }
        if(profile_ != nullptr) finish_profile();
        return result_;
    }

private:
    struct Turn
    {
        double at;
        size_t wave;
        bool operator>(const Turn& other) const
        { return at != other.at ? at > other.at : wave > other.wave; }
    };
    struct Group
    {
        size_t waves = 0, arrived = 0, ended = 0;
        double last_arrival = 0;
    };

    void push(size_t w) { queue_.push({waves_[w].ready, w}); }

    // The next workgroup, if there is one left; its waves go to the SIMDs that have the fewest.
    void begin_group(double at)
    {
        if(groups_.size() == given_.size()) return;
        const GroupTrace& given = *given_[groups_.size()];
        for(const WaveTrace& trace : given.waves)
        {
            WaveRun wave;
            wave.trace = &trace;
            wave.group = groups_.size();
            wave.simd =
                static_cast<size_t>(std::ranges::min_element(resident_) - resident_.begin());
            wave.ready = at;
            ++resident_[wave.simd];
            waves_.push_back(std::move(wave));
            push(waves_.size() - 1);
        }
        groups_.push_back({given.waves.size(), 0, 0, 0});
    }

    // Executes the next instruction of a wave if nothing holds it back until later.
    void advance(size_t w)
    {
        WaveRun& wave                    = waves_[w];
        const Step& step                 = wave.trace->steps[wave.next];
        const ProgramCosts::Entry& entry = costs_.of(step.instruction);
        Stall cause                      = Stall::unit;
        const double start               = earliest(wave, step, entry, cause);
        if(start > wave.ready)
        { // others may come first
            wait(w, step.instruction, start, cause);
            wave.ready = start;
            push(w);
            return;
        }
        issue(w, step, entry, start);
        result_.steps += 1;
        ++wave.next;
        result_.cycles = std::max(result_.cycles, wave.ready);
        if(entry.barrier)
            arrive(wave, start);
        else if(wave.next == wave.trace->steps.size())
            end_wave(wave);
        else
            push(w);
    }

    void wait(size_t w, uint32_t instruction, double until, Stall cause)
    {
        const double since = waves_[w].ready, cycles = until - since;
        result_.stalled[static_cast<size_t>(cause)] += cycles;
        if(profile_ == nullptr) return;
        profile_->spent[instruction].stalled[static_cast<size_t>(cause)] += cycles;
        note(Span::Kind::wait, w, instruction, since, until, cause);
    }

    void arrive(WaveRun& wave, double at)
    {
        Group& group       = groups_[wave.group];
        wave.at_barrier    = true;
        wave.ready         = at;
        group.last_arrival = std::max(group.last_arrival, at);
        ++group.arrived;
        release(wave.group);
    }

    void end_wave(const WaveRun& wave)
    {
        const size_t g  = wave.group;
        const double at = wave.ready;
        --resident_[wave.simd];
        if(++groups_[g].ended == groups_[g].waves)
            begin_group(at + machine_.dispatch_cycles); // no reference to a wave is valid any more
        else
            release(g);
    }

    // Lets waves go on if all that have not ended have arrived.
    void release(size_t g)
    {
        Group& group = groups_[g];
        if(group.arrived == 0 || group.arrived + group.ended < group.waves) return;
        const double at = group.last_arrival + machine_.barrier_cycles;
        group.arrived   = 0;
        for(size_t w = 0; w < waves_.size(); ++w)
            if(waves_[w].group == g && waves_[w].at_barrier)
            {
                WaveRun& wave   = waves_[w];
                wave.at_barrier = false;
                wait(w, wave.trace->steps[wave.next - 1].instruction, at, Stall::barrier);
                wave.ready = at;
                push(w);
            }
    }

    double earliest(WaveRun& wave, const Step& step, const ProgramCosts::Entry& entry, Stall& cause)
    {
        double start     = wave.ready;
        const auto after = [&](double time, Stall why) {
            if(time <= start) return;
            start = time;
            cause = why;
        };
        if(machine_.code_latency != 0) after(code_ready(step, start), Stall::code);
        if(entry.vector_limit >= 0)
        {
            after(pending(wave.vector_memory,
                          wave.vector_done,
                          static_cast<size_t>(entry.vector_limit)),
                  Stall::memory);
            after(
                pending(wave.local_memory, wave.local_done, static_cast<size_t>(entry.local_limit)),
                Stall::local);
        }
        for(uint16_t n = 0; n < 4 && entry.reads[n] != 0; ++n)
        {
            const auto& ready = n == entry.accumulator ? wave.chained_ready : wave.register_ready;
            for(unsigned r = entry.read[n]; r < entry.read[n] + unsigned{entry.reads[n]}; ++r)
                after(ready[r], Stall::result);
        }
        switch(entry.cost.unit)
        {
        case Unit::vector: after(vector_free_[wave.simd], Stall::unit); break;
        case Unit::matrix:
            // its issue takes the SIMD's port for vector instructions
            after(matrix_free_[wave.simd], Stall::unit);
            after(vector_free_[wave.simd], Stall::unit);
            break;
        case Unit::scalar: after(scalar_free_, Stall::unit); break;
        case Unit::branch: after(branch_free_, Stall::unit); break;
        case Unit::lds: after(lds_issue_, Stall::unit); break;
        case Unit::memory: after(memory_issue_, Stall::unit); break;
        case Unit::message: after(message_free_, Stall::unit); break;
        case Unit::control: break;
        }
        return start;
    }

    // Code is fetched line by line, each for all waves.
    double code_ready(const Step& step, double now)
    {
        const size_t line = costs_.address(step.instruction) / machine_.code_line_bytes;
        if(line >= code_.size()) code_.resize(line + 1, -1);
        if(code_[line] < 0) code_[line] = now + machine_.code_latency;
        return code_[line];
    }

    // When at most `limit` operations are pending. What is done with is forgotten.
    static double pending(std::vector<double>& completions, size_t& done, size_t limit)
    {
        const size_t count = completions.size() - done;
        if(count <= limit) return 0;
        const double at = completions[completions.size() - limit - 1];
        return at;
    }

    static void forget(std::vector<double>& completions, size_t& done, size_t limit)
    {
        if(completions.size() - done > limit) done = completions.size() - limit;
        if(done > 4096)
        {
            completions.erase(completions.begin(), completions.begin() + static_cast<long>(done));
            done = 0;
        }
    }

    void issue(size_t w, const Step& step, const ProgramCosts::Entry& entry, double start)
    {
        WaveRun& wave    = waves_[w];
        const Cost& cost = entry.cost;
        auto& busy       = result_.busy[static_cast<size_t>(cost.unit)];
        double next      = start + machine_.wave_cycles + entry.pause;
        switch(cost.unit)
        {
        case Unit::vector:
            vector_free_[wave.simd] = start + cost.busy;
            note(Span::Kind::work, w, step.instruction, start, start + cost.busy);
            busy += cost.busy;
            break;
        case Unit::matrix:
            note(Span::Kind::work, w, step.instruction, start, start + cost.busy);
            matrix_free_[wave.simd] = start + cost.busy;
            vector_free_[wave.simd] = start + machine_.issue_cycles;
            busy += cost.busy;
            break;
        case Unit::scalar: // each SIMD has its turn every issue_cycles
            scalar_free_ = start + 1;
            busy += 1;
            break;
        case Unit::branch:
            branch_free_ = start + 1;
            busy += 1;
            if(wave.next + 1 < wave.trace->steps.size() &&
               wave.trace->steps[wave.next + 1].instruction != step.instruction + 1)
                next = std::max(next, start + machine_.branch_cycles);
            break;
        case Unit::lds: issue_lds(w, step, start); break;
        case Unit::memory: issue_memory(w, step, start); break;
        case Unit::message:
            message_free_ = start + cost.busy;
            busy += cost.busy;
            complete(w, step, start, start + machine_.scalar_latency, wave.local_memory);
            break;
        case Unit::control:
            if(entry.vector_limit >= 0)
            {
                forget(
                    wave.vector_memory, wave.vector_done, static_cast<size_t>(entry.vector_limit));
                forget(wave.local_memory, wave.local_done, static_cast<size_t>(entry.local_limit));
            }
            break;
        }
        for(unsigned r = entry.write; r < unsigned{entry.write} + entry.writes; ++r)
        {
            wave.register_ready[r] = start + cost.latency;
            wave.chained_ready[r]  = start + cost.chained;
        }
        if(profile_ != nullptr)
        {
            Spent& spent = profile_->spent[step.instruction];
            spent.executions += 1;
            spent.issue += next - start;
            note(Span::Kind::issue, w, step.instruction, start, next);
            if(w == 0 && wave.next + 1 == profile_->begin) profile_->from = next;
            if(w == 0 && wave.next + 1 == profile_->end) profile_->to = next;
        }
        wave.ready = next;
    }

    // Operations complete in the order of their issue.
    void
    complete(size_t w, const Step& step, double start, double at, std::vector<double>& completions)
    {
        completions.push_back(completions.empty() ? at : std::max(at, completions.back()));
        note(Span::Kind::flight, w, step.instruction, start, completions.back());
    }

    void issue_lds(size_t w, const Step& step, double start)
    {
        WaveRun& wave     = waves_[w];
        lds_issue_        = start + machine_.issue_cycles;
        double completion = start + machine_.lds_latency;
        if(step.memory >= 0)
        {
            const MemoryWork& work = wave.trace->memory[static_cast<size_t>(step.memory)];
            const double begin     = std::max(start, lds_free_);
            lds_free_              = begin + work.lds_cycles;
            note(Span::Kind::work, w, step.instruction, begin, lds_free_);
            // commands wait in a queue before the unit; a full one holds the next back
            lds_issue_ = std::max(lds_issue_, lds_free_ - machine_.lds_latency);
            completion = lds_free_ + machine_.lds_latency;
            result_.busy[static_cast<size_t>(Unit::lds)] += work.lds_cycles;
            result_.conflicts += work.conflict_cycles;
        }
        complete(w, step, start, completion, wave.local_memory);
    }

    void issue_memory(size_t w, const Step& step, double start)
    {
        WaveRun& wave     = waves_[w];
        memory_issue_     = start + machine_.issue_cycles;
        double completion = start + machine_.cache_latency;
        if(step.memory >= 0)
        {
            const MemoryWork& work = wave.trace->memory[static_cast<size_t>(step.memory)];
            const double begin     = std::max(start, cache_free_);
            cache_free_            = begin + work.cache_cycles;
            note(Span::Kind::work, w, step.instruction, begin, cache_free_);
            memory_issue_ = std::max(memory_issue_, cache_free_ - machine_.cache_latency);
            result_.busy[static_cast<size_t>(Unit::memory)] += work.cache_cycles;
            result_.cache_lines += work.lines;
            completion = cache_free_ + machine_.cache_latency;
            if(work.missed != 0)
            {
                result_.missed_lines += work.missed;
                const double bytes = work.store
                                         ? std::max<double>(work.bytes, 64.0 * work.missed)
                                         : static_cast<double>(machine_.line_bytes) * work.missed;
                miss_free_ = std::max(begin, miss_free_) + bytes / machine_.miss_cycle_bytes;
                completion = std::max(cache_free_, miss_free_) + machine_.miss_latency;
            }
        }
        complete(w, step, start, completion, wave.vector_memory);
    }

    void finish_profile()
    {
        // a wave that executes fewer steps than were asked about is watched to its end
        if(profile_->to == 0) profile_->to = result_.cycles;
        std::erase_if(profile_->spans, [&](const Span& span) {
            return span.to <= profile_->from || span.from >= profile_->to;
        });
        std::map<uint32_t, uint32_t> numbers;
        for(const Span& span : profile_->spans)
            if(waves_[span.wave].simd == waves_[0].simd) numbers.emplace(span.wave, 0);
        for(auto& [w, number] : numbers)
        {
            number = static_cast<uint32_t>(profile_->waves.size());
            // waves of a workgroup follow one another
            const size_t group = waves_[w].group;
            size_t first       = w;
            while(first > 0 && waves_[first - 1].group == group) --first;
            profile_->waves.push_back({group, w - first});
        }
        for(Span& span : profile_->spans)
        {
            const auto found = numbers.find(span.wave);
            span.wave =
                found == numbers.end() ? static_cast<uint32_t>(numbers.size()) : found->second;
        }
    }

    // Keeps what overlaps the time that is asked about, of which the end is known when it is over.
    void note(Span::Kind kind,
              size_t w,
              uint32_t instruction,
              double from,
              double to,
              Stall stall = Stall::unit)
    {
        if(profile_ == nullptr || (profile_->to != 0 && from >= profile_->to)) return;
        const WaveRun& wave = waves_[w];
        const Unit unit     = costs_.of(instruction).cost.unit;
        const bool own      = wave.simd == waves_[0].simd;
        if(!own && (kind != Span::Kind::work || unit == Unit::vector || unit == Unit::matrix))
            return;
        profile_->spans.push_back(
            {kind, unit, stall, static_cast<uint32_t>(w), instruction, from, to, 0});
    }

private:
    const Machine& machine_;
    const ProgramCosts& costs_;
    std::span<const GroupTrace* const> given_;
    Profile* profile_;
    std::vector<WaveRun> waves_;
    std::vector<Group> groups_; // that have begun
    std::vector<size_t> resident_ = std::vector<size_t>(machine_.simds, 0);
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> queue_;
    std::vector<double> vector_free_, matrix_free_;
    double scalar_free_ = 0, branch_free_ = 0, message_free_ = 0;
    double lds_issue_ = 0, lds_free_ = 0, memory_issue_ = 0, cache_free_ = 0, miss_free_ = 0;
    std::vector<double> code_; // when each line is there
    UnitTime result_;
};

} // namespace

UnitTime simulate(const Machine& machine,
                  const ProgramCosts& costs,
                  std::span<const GroupTrace* const> groups,
                  unsigned slots,
                  Profile* profile)
{
    if(profile != nullptr) profile->spent.resize(costs.size());
    return Simulation(machine, costs, groups, slots, profile).run();
}

} // namespace ckprof::emulator
