// SPDX-License-Identifier: MIT
#include "timing/machine.hpp"

#include <array>
#include <charconv>
#include <map>
#include <stdexcept>
#include <variant>

namespace ckprof::emulator {
namespace {

constexpr std::array<const char*, unit_count> unit_names{
    "vector", "matrix", "scalar", "branch", "lds", "memory", "message", "control"};

using Field = std::variant<unsigned Machine::*, double Machine::*>;

const std::map<std::string_view, Field>& fields()
{
    static const std::map<std::string_view, Field> all{
        {"simds", &Machine::simds},
        {"waves_per_simd", &Machine::waves_per_simd},
        {"workgroups_per_cu", &Machine::workgroups_per_cu},
        {"vector_registers", &Machine::vector_registers},
        {"vector_grain", &Machine::vector_grain},
        {"scalar_registers", &Machine::scalar_registers},
        {"scalar_grain", &Machine::scalar_grain},
        {"lds_bytes", &Machine::lds_bytes},
        {"lds_grain", &Machine::lds_grain},
        {"issue_cycles", &Machine::issue_cycles},
        {"wave_cycles", &Machine::wave_cycles},
        {"vector_latency", &Machine::vector_latency},
        {"lds_banks", &Machine::lds_banks},
        {"lds_cycle_bytes", &Machine::lds_cycle_bytes},
        {"lds_latency", &Machine::lds_latency},
        {"line_bytes", &Machine::line_bytes},
        {"cache_bytes", &Machine::cache_bytes},
        {"cache_cycle_bytes", &Machine::cache_cycle_bytes},
        {"cache_latency", &Machine::cache_latency},
        {"miss_latency", &Machine::miss_latency},
        {"miss_cycle_bytes", &Machine::miss_cycle_bytes},
        {"scalar_latency", &Machine::scalar_latency},
        {"branch_cycles", &Machine::branch_cycles},
        {"barrier_cycles", &Machine::barrier_cycles},
        {"dispatch_cycles", &Machine::dispatch_cycles},
        {"code_line_bytes", &Machine::code_line_bytes},
        {"code_latency", &Machine::code_latency},
    };
    return all;
}

std::string_view next_word(std::string_view& line)
{
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(begin);
    const size_t end            = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(end);
    return word;
}

template <typename T>
T number(std::string_view word, std::string_view line)
{
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if(error != std::errc() || end != word.data() + word.size() || value < T{})
        throw std::invalid_argument("no number of cycles or bytes: " + std::string(line));
    return value;
}

Unit unit_named(std::string_view name)
{
    for(size_t n = 0; n < unit_count; ++n)
        if(name == unit_names[n]) return static_cast<Unit>(n);
    throw std::invalid_argument("no such unit: " + std::string(name));
}

// '*' stands for any text.
bool matches(std::string_view pattern, std::string_view name)
{
    if(pattern.empty()) return name.empty();
    if(pattern[0] != '*')
        return !name.empty() && name[0] == pattern[0] && matches(pattern.substr(1), name.substr(1));
    for(size_t n = 0; n <= name.size(); ++n)
        if(matches(pattern.substr(1), name.substr(n))) return true;
    return false;
}

} // namespace

const char* name_of(Unit unit) { return unit_names[static_cast<size_t>(unit)]; }

Machine Machine::parse(std::string_view table)
{
    Machine machine;
    while(!table.empty())
    {
        const size_t end      = std::min(table.find('\n'), table.size());
        std::string_view line = table.substr(0, end);
        const auto whole      = line;
        table.remove_prefix(std::min(end + 1, table.size()));
        const std::string_view name = next_word(line);
        if(name.empty()) continue;
        if(name == "instruction")
        {
            Rule rule;
            rule.pattern      = next_word(line);
            rule.cost.unit    = unit_named(next_word(line));
            rule.cost.busy    = number<uint16_t>(next_word(line), whole);
            rule.cost.latency = number<uint16_t>(next_word(line), whole);
            rule.cost.chained = number<uint16_t>(next_word(line), whole);
            machine.rules_.push_back(std::move(rule));
            continue;
        }
        const auto found = fields().find(name);
        if(found == fields().end())
            throw std::invalid_argument("no such property: " + std::string(whole));
        const std::string_view value = next_word(line);
        if(const auto* whole_number = std::get_if<unsigned Machine::*>(&found->second))
            machine.*(*whole_number) = number<unsigned>(value, whole);
        else
            machine.*(std::get<double Machine::*>(found->second)) = number<double>(value, whole);
    }
    return machine;
}

Cost Machine::cost_of(const Instruction& instruction) const
{
    if(instruction.info == nullptr) return {};
    const std::string_view name = instruction.info->name;
    for(const Rule& rule : rules_)
        if(matches(rule.pattern, name)) return rule.cost;
    switch(instruction.info->encoding)
    {
    case Encoding::sop2:
    case Encoding::sopk:
    case Encoding::sop1:
    case Encoding::sopc: return {Unit::scalar, 4, 4, 4};
    case Encoding::sopp:
        return {name.starts_with("s_cbranch") || name.starts_with("s_branch") ? Unit::branch
                                                                              : Unit::control,
                4,
                4,
                4};
    case Encoding::smem: return {Unit::message, 4, 4, 4};
    case Encoding::ds: return {Unit::lds, 4, 4, 4};
    case Encoding::flat:
    case Encoding::scratch:
    case Encoding::global:
    case Encoding::mubuf:
    case Encoding::mtbuf: return {Unit::memory, 4, 4, 4};
    default:
    {
        const auto latency = static_cast<uint16_t>(vector_latency);
        return {Unit::vector, 4, latency, latency};
    }
    }
}

} // namespace ckprof::emulator
