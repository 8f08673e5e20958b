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

// Returns one line per finding.
std::string execute_group(Architecture architecture,
                          std::span<const uint32_t> words,
                          std::span<ckprof_emulator_state> states,
                          std::span<const ckprof_emulator_range> allocations,
                          const char* checks)
{
    const Program program(architecture, words, reinterpret_cast<uint64_t>(words.data()));
    DeviceMemory memory(checks == nullptr ? 1 : 4096);
    for(const auto& [begin, bytes] : allocations) memory.add(begin, bytes);
    Launch launch;
    launch.kernel             = "test";
    launch.program            = &program;
    launch.memory             = &memory;
    launch.instruction_budget = 1 << 22;
    Workgroup group;
    group.launch = &launch;
    group.lds.resize(states[0].lds_bytes);
    if(states[0].lds_bytes != 0) std::memcpy(group.lds.data(), states[0].lds, states[0].lds_bytes);
    CheckSession session(checks == nullptr ? "" : checks, program);
    const std::unique_ptr<Observer> observer = checks == nullptr ? nullptr : session.observer();
    group.observer                           = observer.get();
    group.waves.resize(states.size());
    for(size_t w = 0; w < states.size(); ++w)
    {
        Wave& wave    = group.waves[w];
        wave.number   = static_cast<unsigned>(w);
        wave.group    = &group;
        wave.program  = &program;
        wave.pc       = program.at(program.base());
        wave.observer = observer.get();
        load(wave, states[w]);
    }
    if(observer) observer->workgroup_begins(group);
    uint64_t order = 0;
    while(execute(group, order) != Progress::ended);
    if(observer) observer->workgroup_ends(group);
    for(size_t w = 0; w < states.size(); ++w) save(group.waves[w], states[w]);
    if(states[0].lds_bytes != 0) std::memcpy(states[0].lds, group.lds.data(), states[0].lds_bytes);
    std::string text;
    for(const Finding& finding : session.findings(launch))
        text += finding.check + ": " + finding.message + "\n";
    return text;
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
    try
    {
        const auto known = find_architecture(architecture);
        if(!known)
            throw std::invalid_argument(std::string("no such architecture: ") + architecture);
        copy_text(execute_group(*known,
                                {words, word_count},
                                {states, state_count},
                                {allocations, allocation_count},
                                checks),
                  message,
                  message_bytes);
        return 0;
    }
    catch(const DeviceError& error)
    {
        copy_text(error.what(), message, message_bytes);
        return 1 + static_cast<int>(error.kind());
    }
    catch(const std::exception& error)
    {
        copy_text(error.what(), message, message_bytes);
        return -1;
    }
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
