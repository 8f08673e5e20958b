// SPDX-License-Identifier: MIT
#include "checks/finding.hpp"

#include "core/errors.hpp"
#include "isa/instruction.hpp"

namespace ckprof::emulator {

void FindingLog::add(const char* check,
                     const std::string& what,
                     const Wave& wave,
                     const Instruction& instruction,
                     const Instruction* other)
{
    const std::lock_guard lock(mutex_);
    Finding& finding = found_[{check, instruction.address}];
    if(finding.count++ != 0) return;
    finding.check   = check;
    finding.address = instruction.address;
    finding.message = what + ": " + place_of(wave, instruction);
    if(other == nullptr) return;
    finding.other        = other->address;
    finding.other_offset = offset_in_kernel(wave, *other);
}

bool FindingLog::again(const char* check, const Instruction& instruction)
{
    const std::lock_guard lock(mutex_);
    const auto found = found_.find({check, instruction.address});
    if(found == found_.end()) return false;
    ++found->second.count;
    return true;
}

std::vector<Finding> FindingLog::findings() const
{
    const std::lock_guard lock(mutex_);
    std::vector<Finding> all;
    for(const auto& [place, finding] : found_) all.push_back(finding);
    return all;
}

} // namespace ckprof::emulator
