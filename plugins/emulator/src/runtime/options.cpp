// SPDX-License-Identifier: MIT
#include "runtime/options.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "checks/session.hpp"
#include "core/wave.hpp"

namespace ckprof::emulator {
namespace {

constexpr const char* threads_variable = "CKPROF_EMULATED_THREADS";

std::string_view variable(const char* name)
{
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

template <typename T>
void read(const char* name, T& value)
{
    const std::string_view text = variable(name);
    if(text.empty()) return;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if(error != std::errc() || end != text.data() + text.size())
        throw std::invalid_argument(std::string(name) + ": " + std::string(text) +
                                    " is no number that can be used");
}

unsigned processors()
{
    cpu_set_t set;
    if(sched_getaffinity(0, sizeof(set), &set) == 0)
        return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
    return std::max(1U, std::thread::hardware_concurrency());
}

} // namespace

Options Options::from_environment()
{
    Options options;
    options.threads = processors();
    read(threads_variable, options.threads);
    if(options.threads == 0 || options.threads > 1024)
        throw std::invalid_argument(std::string(threads_variable) + " must be from 1 to 1024");
    read("CKPROF_EMULATED_SEED", options.seed);
    const std::string_view order = variable("CKPROF_EMULATED_ORDER");
    if(!order.empty() && order != "forward" && order != "reverse")
        throw std::invalid_argument("CKPROF_EMULATED_ORDER is " + std::string(order) +
                                    ", expected forward or reverse");
    options.order_seed = order.empty() ? options.seed : 0;
    options.reverse    = order == "reverse";
    read("CKPROF_EMULATED_BUDGET", options.instruction_budget);
    read("CKPROF_EMULATED_MEMORY", options.memory_bytes);
    const std::string_view faults = variable("CKPROF_EMULATED_FAULTS");
    if(!faults.empty() && faults != "abort" && faults != "error")
        throw std::invalid_argument("CKPROF_EMULATED_FAULTS is " + std::string(faults) +
                                    ", expected abort or error");
    options.faults_abort = faults == "abort";
    options.checks       = variable("CKPROF_EMULATED_CHECKS");
    if(options.checks == "all")
    {
        options.checks.clear();
        for(const std::string& name : check_names())
            options.checks += (options.checks.empty() ? "" : ",") + name;
    }
    options.omitted = variable("CKPROF_EMULATED_OMIT");
    options.failure = variable("CKPROF_EMULATED_FAIL");
    return options;
}

uint32_t Options::undefined() const
{
    if(seed == 0 || notes_undefined()) return Wave::undefined_value;
    // 0x7f81 to 0x7fff are NaN in both formats of 16 bits
    const auto half = static_cast<uint32_t>(0x7f81 + seed % 0x7f);
    return half | half << 16;
}

bool Options::notes_undefined() const { return checks.find("uninitialised") != std::string::npos; }

} // namespace ckprof::emulator
