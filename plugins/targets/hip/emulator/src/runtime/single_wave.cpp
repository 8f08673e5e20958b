// SPDX-License-Identifier: MIT
#include "runtime/single_wave.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

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

void execute_wave(Architecture architecture,
                  std::span<const uint32_t> words,
                  ckprof_emulator_state& state,
                  std::span<const ckprof_emulator_range> allocations)
{
    const Program program(architecture, words, reinterpret_cast<uint64_t>(words.data()));
    DeviceMemory memory(0);
    for(const auto& [begin, bytes] : allocations) memory.add(begin, bytes);
    Launch launch;
    launch.kernel             = "test";
    launch.program            = &program;
    launch.memory             = &memory;
    launch.instruction_budget = 1 << 22;
    Workgroup group;
    group.launch = &launch;
    group.lds.resize(state.lds_bytes);
    if(state.lds_bytes != 0) std::memcpy(group.lds.data(), state.lds, state.lds_bytes);
    Wave& wave = group.waves.emplace_back();
    std::copy_n(state.scalar, wave.scalar.size(), wave.scalar.begin());
    std::memcpy(wave.vector.data(), state.vector, sizeof(state.vector));
    wave.scc                = state.scc != 0;
    wave.mode               = Mode::from_bits(state.mode);
    wave.group              = &group;
    wave.program            = &program;
    wave.pc                 = program.at(program.base());
    wave.scratch_lane_bytes = state.scratch_lane_bytes;
    wave.scratch.resize(scratch_bytes(state.scratch_lane_bytes));
    uint64_t order = 0;
    while(execute(group, order) != Progress::ended);
    std::copy(wave.scalar.begin(), wave.scalar.end(), state.scalar);
    std::memcpy(state.vector, wave.vector.data(), sizeof(state.vector));
    state.scc  = wave.scc ? 1 : 0;
    state.mode = wave.mode.bits();
    if(state.lds_bytes != 0) std::memcpy(state.lds, group.lds.data(), state.lds_bytes);
}

} // namespace

int ckprof_emulator_execute(const char* architecture,
                            const uint32_t* words,
                            size_t word_count,
                            ckprof_emulator_state* state,
                            const ckprof_emulator_range* allocations,
                            size_t allocation_count,
                            char* message,
                            size_t message_bytes)
{
    try
    {
        const auto known = find_architecture(architecture);
        if(!known)
            throw std::invalid_argument(std::string("no such architecture: ") + architecture);
        execute_wave(*known, {words, word_count}, *state, {allocations, allocation_count});
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
