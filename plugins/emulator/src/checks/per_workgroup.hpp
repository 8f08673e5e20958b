// SPDX-License-Identifier: MIT
// What a checker keeps of each workgroup whose storage its thread uses: several take turns while
// they wait.
#pragma once

#include <unordered_map>

namespace ckprof::emulator {

struct Workgroup;

template <typename State>
class PerWorkgroup
{
public:
    State& of(const Workgroup* group)
    {
        if(group != group_)
        {
            group_ = group;
            state_ = &states_[group];
        }
        return *state_;
    }

private:
    std::unordered_map<const Workgroup*, State> states_;
    // the one that was asked for last, whose waves execute for a while
    const Workgroup* group_ = nullptr;
    State* state_           = nullptr;
};

} // namespace ckprof::emulator
