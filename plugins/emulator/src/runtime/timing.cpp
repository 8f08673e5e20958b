// SPDX-License-Identifier: MIT
#include "runtime/timing.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "runtime/device.hpp"
#include "runtime/timing_text.hpp"

using namespace ckprof::emulator;

namespace {

void copy_text(const std::string& from, char* to, size_t bytes)
{
    if(to != nullptr && bytes != 0) std::snprintf(to, bytes, "%s", from.c_str());
}

} // namespace

int ckprof_emulator_timing_begin(const char* table,
                                 uint32_t compute_units,
                                 uint64_t most_steps,
                                 uint32_t profile,
                                 char* message,
                                 size_t message_bytes)
{
    try
    {
        device().begin_timing({Machine::parse(table), compute_units, most_steps, profile != 0});
        return 0;
    }
    catch(const std::exception& error)
    {
        copy_text(error.what(), message, message_bytes);
        return 1;
    }
}

size_t ckprof_emulator_timing_take(char* text, size_t text_bytes)
{
    std::string all;
    for(const std::string& line : device().timings()) all += line + "\n";
    copy_text(all, text, text_bytes);
    if(all.size() < text_bytes) device().timings().clear();
    return all.size() + 1;
}
