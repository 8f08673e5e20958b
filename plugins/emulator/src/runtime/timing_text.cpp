// SPDX-License-Identifier: MIT
#include "runtime/timing_text.hpp"

#include <charconv>

namespace ckprof::emulator {
namespace {

std::string text(double value)
{
    char buffer[32];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
    return error == std::errc() ? std::string(buffer, end) : "0";
}

std::string text(const std::array<uint32_t, 3>& sizes)
{
    return "[" + std::to_string(sizes[0]) + "," + std::to_string(sizes[1]) + "," +
           std::to_string(sizes[2]) + "]";
}

template <typename Name, size_t count>
std::string named(const std::array<double, count>& values)
{
    std::string all;
    for(size_t n = 0; n < count; ++n)
        all += (n == 0 ? "\"" : ",\"") + std::string(name_of(static_cast<Name>(n))) +
               "\":" + text(values[n]);
    return "{" + all + "}";
}

// Texts of instructions and of source lines hold no control characters.
std::string quoted(const std::string& value)
{
    std::string all = "\"";
    for(const char c : value)
    {
        if(c == '"' || c == '\\') all += '\\';
        all += c;
    }
    return all + "\"";
}

std::string json_of(const LaunchTiming::Executed& entry)
{
    const MemoryWork& memory = entry.memory;
    return "{\"address\":" + std::to_string(entry.address) + ",\"text\":" + quoted(entry.text) +
           ",\"source\":" + quoted(entry.source) + ",\"unit\":\"" + name_of(entry.unit) +
           "\",\"in_loop\":" + (entry.in_loop ? "true" : "false") +
           ",\"executions\":" + text(entry.executions) +
           ",\"simulated\":" + text(entry.spent.executions) +
           ",\"issue\":" + text(entry.spent.issue) +
           ",\"stalled\":" + named<Stall>(entry.spent.stalled) +
           ",\"lds_cycles\":" + std::to_string(memory.lds_cycles) +
           ",\"conflict_cycles\":" + std::to_string(memory.conflict_cycles) +
           ",\"lines\":" + std::to_string(memory.lines) +
           ",\"missed_lines\":" + std::to_string(memory.missed) +
           ",\"bytes\":" + std::to_string(memory.bytes) + "}";
}

template <typename T, typename F>
std::string listed(const std::vector<T>& values, F&& one)
{
    std::string all = "[";
    for(const T& value : values)
    {
        if(all.size() > 1) all += ",";
        all += one(value);
    }
    return all + "]";
}

std::string profile_of(const LaunchTiming& timing)
{
    constexpr std::array kinds{"wait", "issue", "work", "flight"};
    const Profile& profile = timing.profile;
    const auto span        = [&](const Span& s) {
        return "[\"" + std::string(kinds[static_cast<size_t>(s.kind)]) + "\",\"" +
               (s.kind == Span::Kind::wait ? name_of(s.stall) : name_of(s.unit)) + "\"," +
               std::to_string(s.wave) + "," + std::to_string(s.address) + "," +
               text(s.from - profile.from) + "," + text(s.to - profile.from) + "]";
    };
    const auto wave = [](const WatchedWave& w) {
        return "[" + std::to_string(w.group) + "," + std::to_string(w.wave) + "]";
    };
    return ",\"executed\":" +
           listed(timing.executed, [](const auto& entry) { return json_of(entry); }) +
           ",\"timeline\":{\"cycles\":" + text(profile.to - profile.from) +
           ",\"waves\":" + listed(profile.waves, wave) +
           ",\"spans\":" + listed(profile.spans, span) + "}";
}

std::string needs_of(const LaunchTiming& timing)
{
    std::string all;
    for(const auto& [name, number] : timing.needs)
        all += (all.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + std::to_string(number);
    return all + "}";
}

} // namespace

std::string json_of(const UnitTime& time)
{
    return "{\"cycles\":" + text(time.cycles) + ",\"error_cycles\":" + text(time.error_cycles) +
           ",\"busy\":" + named<Unit>(time.busy) + ",\"stalled\":" + named<Stall>(time.stalled) +
           ",\"steps\":" + text(time.steps) + ",\"conflict_cycles\":" + text(time.conflicts) +
           ",\"cache_lines\":" + text(time.cache_lines) +
           ",\"missed_lines\":" + text(time.missed_lines) + "}";
}

std::string json_of(const LaunchTiming& timing)
{
    return "{\"kernel\":\"" + timing.kernel + "\",\"grid\":" + text(timing.grid) +
           ",\"block\":" + text(timing.block) +
           ",\"workgroups\":" + std::to_string(timing.workgroups) +
           ",\"resident\":" + std::to_string(timing.occupancy.workgroups) + ",\"limited_by\":\"" +
           timing.occupancy.limit + "\",\"queue\":" + std::to_string(timing.queue) +
           ",\"iterations\":" + std::to_string(timing.iterations) +
           ",\"needs\":" + needs_of(timing) +
           ",\"group_steps\":" + std::to_string(timing.group_steps) +
           ",\"lines_read\":" + std::to_string(timing.lines_read) +
           ",\"lines_written\":" + std::to_string(timing.lines_written) +
           ",\"time\":" + json_of(timing.time) + ",\"alone\":" + json_of(timing.alone) +
           ",\"edge\":" + json_of(timing.edge) +
           (timing.executed.empty() ? "" : profile_of(timing)) + "}";
}

} // namespace ckprof::emulator
