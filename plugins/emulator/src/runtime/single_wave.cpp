// SPDX-License-Identifier: MIT
#include "runtime/single_wave.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "checks/session.hpp"
#include "core/errors.hpp"
#include "core/scratch.hpp"
#include "core/workgroup.hpp"
#include "isa/architectures.hpp"
#include "isa/decoder.hpp"
#include "isa/handlers.hpp"
#include "runtime/timing_text.hpp"
#include "timing/recorder.hpp"

namespace {

using namespace ckprof::emulator;

void copy_text(const std::string& from, char* to, size_t bytes)
{
    if(to != nullptr && bytes != 0) std::snprintf(to, bytes, "%s", from.c_str());
}

void load(Wave& wave, const ckprof_emulator_state& state)
{
    std::copy_n(state.scalar, wave.scalar.size(), wave.scalar.begin());
    std::memcpy(wave.vector.data(), state.vector, sizeof(state.vector));
    wave.scc                = state.scc != 0;
    wave.mode               = Mode::from_bits(state.mode);
    wave.scratch_lane_bytes = state.scratch_lane_bytes;
    wave.scratch.resize(scratch_bytes(state.scratch_lane_bytes));
    if(state.scratch_lane_bytes != 0)
        std::ranges::copy(scratch_descriptor(wave), wave.scalar.begin() + state.scratch_buffer);
}

void save(const Wave& wave, ckprof_emulator_state& state)
{
    std::copy(wave.scalar.begin(), wave.scalar.end(), state.scalar);
    std::memcpy(state.vector, wave.vector.data(), sizeof(state.vector));
    state.scc  = wave.scc ? 1 : 0;
    state.mode = wave.mode.bits();
}

struct Given
{
    std::span<ckprof_emulator_state> states;
    std::span<const ckprof_emulator_range> allocations;
};

// Executes the waves, watched by an observer if there is one; what they leave is in the states.
void execute_waves(const Given& given, Launch& launch, Observer* observer)
{
    const auto& [states, allocations] = given;
    const Program& program            = *launch.program;
    for(const auto& [begin, bytes] : allocations) launch.memory->add(begin, bytes);
    launch.kernel             = "test";
    launch.instruction_budget = 1 << 22;
    Workgroup group;
    group.launch = &launch;
    group.lds.resize(states[0].lds_bytes);
    if(states[0].lds_bytes != 0) std::memcpy(group.lds.data(), states[0].lds, states[0].lds_bytes);
    group.observer = observer;
    group.waves.resize(states.size());
    for(size_t w = 0; w < states.size(); ++w)
    {
        Wave& wave    = group.waves[w];
        wave.number   = static_cast<unsigned>(w);
        wave.group    = &group;
        wave.program  = &program;
        wave.pc       = program.at(program.base());
        wave.observer = observer;
        load(wave, states[w]);
    }
    if(observer != nullptr) observer->workgroup_begins(group);
    uint64_t order = 0;
    while(execute(group, order) != Progress::ended);
    if(observer != nullptr) observer->workgroup_ends(group);
    for(size_t w = 0; w < states.size(); ++w) save(group.waves[w], states[w]);
    if(states[0].lds_bytes != 0) std::memcpy(states[0].lds, group.lds.data(), states[0].lds_bytes);
}

// Returns one line per finding.
std::string checked(const Given& given, const Program& program, const char* checks)
{
    DeviceMemory memory(checks == nullptr ? 1 : 4096);
    Launch launch;
    launch.program = &program;
    launch.memory  = &memory;
    CheckSession session(checks == nullptr ? "" : checks, program);
    const std::unique_ptr<Observer> observer = checks == nullptr ? nullptr : session.observer();
    execute_waves(given, launch, observer.get());
    std::string text;
    for(const Finding& finding : session.findings(launch))
        text += finding.check + ": " + finding.message + "\n";
    return text;
}

std::string
timed(const Given& given, const Program& program, const char* table, unsigned count, unsigned slots)
{
    const Machine machine = Machine::parse(table);
    DeviceMemory memory(1);
    Launch launch;
    launch.program = &program;
    launch.memory  = &memory;
    Recorder recorder(machine, program, slots);
    execute_waves(given, launch, &recorder);
    const GroupTrace trace = recorder.take();
    const std::vector<const GroupTrace*> groups(count, &trace);
    return json_of(simulate(machine, ProgramCosts(machine, program), groups, slots));
}

Architecture known_architecture(const char* name)
{
    const auto known = find_architecture(name);
    if(!known) throw std::invalid_argument(std::string("no such architecture: ") + name);
    return *known;
}

// Puts what it returns, or the message of what it throws, into the text; 0, or what went wrong.
template <typename Work>
int answer(char* text, size_t text_bytes, Work&& work)
{
    try
    {
        copy_text(work(), text, text_bytes);
        return 0;
    }
    catch(const DeviceError& error)
    {
        copy_text(error.what(), text, text_bytes);
        return 1 + static_cast<int>(error.kind());
    }
    catch(const std::exception& error)
    {
        copy_text(error.what(), text, text_bytes);
        return -1;
    }
}

} // namespace

int ckprof_emulator_execute(const char* architecture,
                            const uint32_t* words,
                            size_t word_count,
                            ckprof_emulator_state* states,
                            size_t state_count,
                            const ckprof_emulator_range* allocations,
                            size_t allocation_count,
                            const char* checks,
                            char* message,
                            size_t message_bytes)
{
    return answer(message, message_bytes, [&] {
        const Program program(known_architecture(architecture),
                              {words, word_count},
                              reinterpret_cast<uint64_t>(words));
        return checked({{states, state_count}, {allocations, allocation_count}}, program, checks);
    });
}

int ckprof_emulator_time(const char* architecture,
                         const uint32_t* words,
                         size_t word_count,
                         ckprof_emulator_state* states,
                         size_t state_count,
                         const ckprof_emulator_range* allocations,
                         size_t allocation_count,
                         const char* table,
                         uint32_t count,
                         uint32_t slots,
                         char* text,
                         size_t text_bytes)
{
    return answer(text, text_bytes, [&] {
        const Program program(known_architecture(architecture),
                              {words, word_count},
                              reinterpret_cast<uint64_t>(words));
        return timed(
            {{states, state_count}, {allocations, allocation_count}}, program, table, count, slots);
    });
}

size_t ckprof_emulator_disassemble(const char* architecture,
                                   const uint32_t* words,
                                   size_t word_count,
                                   char* text,
                                   size_t text_bytes)
{
    std::string all;
    if(const auto known = find_architecture(architecture))
    {
        const Program program(*known, {words, word_count}, 0);
        for(const Instruction& instruction : program.instructions())
            all += std::to_string(instruction.bytes) + " " + text_of(instruction) + "\n";
    }
    copy_text(all, text, text_bytes);
    return all.size() + 1;
}

size_t ckprof_emulator_unsupported(const char* architecture, char* text, size_t text_bytes)
{
    std::string all;
    const auto known = find_architecture(architecture);
    for(const InstructionInfo& info : instruction_table())
        if(known && (info.architectures & static_cast<unsigned>(*known)) != 0 &&
           find_handler(info.name) == nullptr)
            all += (all.empty() ? "" : " ") + std::string(info.name);
    copy_text(all, text, text_bytes);
    return all.size() + 1;
}
