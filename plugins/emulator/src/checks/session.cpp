// SPDX-License-Identifier: MIT
#include "checks/session.hpp"

#include <algorithm>
#include <stdexcept>

#include "checks/source_line.hpp"
#include "core/errors.hpp"
#include "core/workgroup.hpp"

namespace ckprof::emulator {
namespace {

struct NamedChecker
{
    const char* name;
    std::unique_ptr<Observer> (*make)(const CheckContext&);
};

constexpr NamedChecker checkers[] = {
    {"races", &make_race_checker},
    {"uninitialised", &make_definedness_checker},
    {"waits", &make_wait_checker},
    {"async", &make_async_checker},
    {"bounds", &make_bounds_checker},
    {"barriers", &make_barrier_checker},
};

// Several observers as one.
class Observers : public Observer
{
public:
    explicit Observers(std::vector<std::unique_ptr<Observer>> all) : all_(std::move(all)) {}

    void workgroup_begins(Workgroup& group) override
    {
        for(auto& one : all_) one->workgroup_begins(group);
    }
    void workgroup_ends(Workgroup& group) override
    {
        for(auto& one : all_) one->workgroup_ends(group);
    }
    void before(Wave& wave, const Instruction& instruction) override
    {
        for(auto& one : all_) one->before(wave, instruction);
    }
    void after(Wave& wave, const Instruction& instruction) override
    {
        for(auto& one : all_) one->after(wave, instruction);
    }
    void accesses(Wave& wave, const Instruction& instruction, const MemoryAccess& access) override
    {
        for(auto& one : all_) one->accesses(wave, instruction, access);
    }
    void delivers(Wave& wave, const PendingOperation& operation) override
    {
        for(auto& one : all_) one->delivers(wave, operation);
    }
    void arrives_at_barrier(Wave& wave, const Instruction& instruction) override
    {
        for(auto& one : all_) one->arrives_at_barrier(wave, instruction);
    }
    void passes_barrier(Workgroup& group) override
    {
        for(auto& one : all_) one->passes_barrier(group);
    }

private:
    std::vector<std::unique_ptr<Observer>> all_;
};

} // namespace

std::vector<std::string> check_names()
{
    std::vector<std::string> names;
    for(const NamedChecker& checker : checkers) names.emplace_back(checker.name);
    return names;
}

CheckSession::CheckSession(std::string_view checks, const Program& program)
    : program_(program),
      uses_(program)
{
    const std::vector<std::string> known = check_names();
    while(!checks.empty())
    {
        const size_t comma = std::min(checks.find(','), checks.size());
        std::string name(checks.substr(0, comma));
        checks.remove_prefix(std::min(comma + 1, checks.size()));
        if(std::find(known.begin(), known.end(), name) == known.end())
        {
            std::string names;
            for(const std::string& one : known) names += ", " + one;
            throw std::invalid_argument("there is no check '" + name + "', expected all" + names);
        }
        checks_.push_back(std::move(name));
    }
}

std::vector<Finding> CheckSession::findings(const Launch& launch) const
{
    std::vector<Finding> all = log_.findings();
    if(launch.code_object.empty()) return all;
    std::vector<uint64_t> addresses;
    for(const Finding& finding : all)
        for(const uint32_t address : {finding.address, finding.other.value_or(finding.address)})
            addresses.push_back(launch.code_address + address);
    const std::vector<std::string> lines = source_lines(launch.code_object, addresses);
    for(size_t n = 0; n < lines.size(); n += 2)
    {
        Finding& finding = all[n / 2];
        if(!lines[n].empty()) finding.message += "\n  " + lines[n];
        if(finding.other && !lines[n + 1].empty())
            finding.message +=
                "\n  " + lines[n + 1] + " (" + offset_text(finding.other_offset) + ")";
    }
    return all;
}

std::unique_ptr<Observer> CheckSession::observer()
{
    const CheckContext context{program_, uses_, log_, shadow_};
    std::vector<std::unique_ptr<Observer>> all;
    for(const NamedChecker& checker : checkers)
        if(std::find(checks_.begin(), checks_.end(), checker.name) != checks_.end())
            all.push_back(checker.make(context));
    return std::make_unique<Observers>(std::move(all));
}

} // namespace ckprof::emulator
