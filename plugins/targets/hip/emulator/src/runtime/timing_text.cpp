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
    std::string hot;
    for(const LaunchTiming::Hot& entry : timing.hot)
        hot += (hot.empty() ? "" : ",") + std::string("{\"address\":") +
               std::to_string(entry.address) + ",\"text\":\"" + entry.text +
               "\",\"cycles\":" + text(entry.cycles) + ",\"executions\":" + text(entry.executions) +
               "}";
    return "{\"kernel\":\"" + timing.kernel + "\",\"grid\":" + text(timing.grid) +
           ",\"block\":" + text(timing.block) +
           ",\"workgroups\":" + std::to_string(timing.workgroups) +
           ",\"resident\":" + std::to_string(timing.occupancy.workgroups) + ",\"limited_by\":\"" +
           timing.occupancy.limit + "\",\"queue\":" + std::to_string(timing.queue) +
           ",\"iterations\":" + std::to_string(timing.iterations) +
           ",\"group_steps\":" + std::to_string(timing.group_steps) +
           ",\"lines_read\":" + std::to_string(timing.lines_read) +
           ",\"lines_written\":" + std::to_string(timing.lines_written) +
           ",\"time\":" + json_of(timing.time) + ",\"alone\":" + json_of(timing.alone) +
           ",\"edge\":" + json_of(timing.edge) + ",\"hot\":[" + hot + "]}";
}

} // namespace ckprof::emulator
