// SPDX-License-Identifier: MIT
//
// Launchers that hand a changed problem on to another launcher.
#ifndef CKPROF_CHANGED_PROBLEM_HPP
#define CKPROF_CHANGED_PROBLEM_HPP

#include <cstddef>

#include "ck_tile/host/convolution_parameter.hpp"

namespace ckprof {

// A Change has
//   possible(param)       whether a problem can be changed
//   cannot(param, report, context)   the same negated; calls report(context, condition, reason)
//   apply(problem)        the changed problem, of a ConvParam or of host arguments, which are one
//                         with pointers
//
// What only some launchers have. Both are asked about problems that cannot be changed, too.
template <typename Launcher, typename Change>
struct changed_splits : Launcher
{};

template <typename Launcher, typename Change>
    requires requires { &Launcher::deduce_split_k; }
struct changed_splits<Launcher, Change> : Launcher
{
    static int deduce_split_k(const ck_tile::conv::ConvParam& param)
    { return Change::possible(param) ? Launcher::deduce_split_k(Change::apply(param)) : 1; }
};

template <typename Launcher, typename Change>
struct changed_workspace : Launcher
{};

template <typename Launcher, typename Change>
    requires requires { &Launcher::workspace_bytes; }
struct changed_workspace<Launcher, Change> : Launcher
{
    static std::size_t workspace_bytes(const ck_tile::conv::ConvParam& param, int k_batch)
    {
        return Change::possible(param) ? Launcher::workspace_bytes(Change::apply(param), k_batch)
                                       : 0;
    }
};

// Everything but the launch.
template <typename Launcher, typename Change>
struct changed_problem : changed_splits<changed_workspace<Launcher, Change>, Change>
{
    static bool rejects(const ck_tile::conv::ConvParam& param,
                        int k_batch,
                        void (*report)(void*, const char*, const char*),
                        void* context)
    {
        return Change::cannot(param, report, context) ||
               Launcher::rejects(Change::apply(param), k_batch, report, context);
    }

    static bool kernel_supports(const ck_tile::conv::ConvParam& param, int k_batch)
    { return Change::possible(param) && Launcher::kernel_supports(Change::apply(param), k_batch); }

    static bool is_supported(const ck_tile::conv::ConvParam& param, int k_batch)
    { return Change::possible(param) && Launcher::is_supported(Change::apply(param), k_batch); }
};

} // namespace ckprof

#endif
