// SPDX-License-Identifier: MIT
// The checkers: one observer each, made for one thread of a launch.
#pragma once

#include <memory>

#include "checks/finding.hpp"
#include "checks/global_shadow.hpp"
#include "checks/register_use.hpp"
#include "core/observer.hpp"

namespace ckprof::emulator {

// What the checkers of all threads of a launch share.
struct CheckContext
{
    const Program& program;
    const RegisterUses& uses;
    FindingLog& log;
    GlobalShadow& shadow;
};

// Registers that are read or written while a load to them is under way.
std::unique_ptr<Observer> make_wait_checker(const CheckContext& context);
// Two waves at the same bytes of LDS or global memory, one of them writing, and nothing between
// them that orders them.
std::unique_ptr<Observer> make_race_checker(const CheckContext& context);
// Values that nothing has written decide about branches, addresses, products or results.
std::unique_ptr<Observer> make_definedness_checker(const CheckContext& context);
// Bytes outside of allocations and LDS.
std::unique_ptr<Observer> make_bounds_checker(const CheckContext& context);
// Accesses to bytes of LDS that a load of global memory, of another wave as a rule, is on its way
// to.
std::unique_ptr<Observer> make_async_checker(const CheckContext& context);
// Waves of a workgroup that do not arrive at barriers equally often, or with a part of their lanes.
std::unique_ptr<Observer> make_barrier_checker(const CheckContext& context);

} // namespace ckprof::emulator
