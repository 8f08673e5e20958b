// SPDX-License-Identifier: MIT
//
// From a launcher to its row in the table of a kernel library, for any operation.
//
// An operation includes this file behind CK Tile and describes itself by a type with
//   param                                  what a kernel is asked about
//   make_param(const ckprof_problem&)      makes it
//   spatial_dimensions<Launcher>()         what a kernel's problems must have
//   make_args<HostArgs>(param, buffers, k_batch)   what its launch() takes; with the ckprof_problem
//                                          as the first argument where a param does not say enough
//   rejects(const ckprof_problem&, report, context)   optional: whether no launcher can take it
// Every kernel's translation unit includes it. What does not depend on the kernel is no template of
// it, and what must be one is kept short: this file is compiled as often as there are kernels.
#ifndef CKPROF_KERNEL_ENTRY_HPP
#define CKPROF_KERNEL_ENTRY_HPP

#include <cstring>
#include <exception>
#include <string>

#include "ckprof_abi.h"

#if __has_include("ck_tile/host_model/rejection.hpp")
#include "ck_tile/host_model/rejection.hpp"
#define CKPROF_HAS_REJECTION_REASON 1
#endif

// For what is not worth the compiler's time.
#define CKPROF_COLD __attribute__((noinline, cold))

namespace ckprof::entry {

// Cuts the text if it is too long. size counts the terminating zero; 0 writes nothing.
CKPROF_COLD inline void copy_text(const char* text, char* buffer, size_t size) noexcept
{
    if(buffer == nullptr || size == 0) return;
    const size_t length = strnlen(text, size - 1);
    std::memcpy(buffer, text, length);
    buffer[length] = '\0';
}

// To be called in a catch block: the text of the exception becomes the reason.
CKPROF_COLD inline ckprof_status report_exception(char* reason, size_t reason_size) noexcept
{
    try
    {
        throw;
    }
#ifdef CKPROF_HAS_REJECTION_REASON
    catch(const ck_tile::host_model::rejected_launch& rejection)
    {
        copy_text(rejection.what(), reason, reason_size);
        return CKPROF_REJECTED;
    }
#endif
    catch(const std::exception& error)
    {
        copy_text(error.what(), reason, reason_size);
    }
    catch(...)
    {
        copy_text("something that is no std::exception was thrown", reason, reason_size);
    }
    return CKPROF_FAILED;
}

// Asks one kernel; collects nothing itself, see is_supported() below.
template <typename Operation>
struct support_test
{
    using param = typename Operation::param;

    int ndim;
    bool (*kernel)(const param& problem, int k_batch);
    // May be null: the kernel leaves nothing to its launcher to reject, needs no workspace, does
    // not choose the number of splits.
    bool (*launcher)(const param& problem, int k_batch, ckprof_report report, void* context);
    std::size_t (*workspace_bytes)(const param& problem, int k_batch);
    int (*deduce_split_k)(const param& problem);
    // Null where the kernel cannot be asked without its launcher.
    bool (*kernel_alone)(const param& problem, int k_batch);
};

// CK Tile chooses by the device alone and may then reject its own choice, be it that the type of
// the result allows fewer additions or that the reduction has fewer steps. Half of it, or half of
// that, is the next best: 1 if nothing else will do.
template <typename Operation>
CKPROF_COLD int choose_split_k(const support_test<Operation>& test,
                               const typename Operation::param& param)
{
    int split_k = test.deduce_split_k(param);
    while(split_k > 1 && !test.kernel(param, split_k)) split_k /= 2;
    return split_k > 1 ? split_k : 1;
}

// Says that what was reported may not be all that the problem does not meet.
CKPROF_COLD inline void report_untested(ckprof_report report, void* context)
{
    report(context,
           CKPROF_UNTESTED,
           "the kernel's other conditions were not tested: there may be more that is not met");
}

// Puts a kernel's question to a problem that is itself well-formed.
template <typename Operation>
CKPROF_COLD ckprof_status ask(const support_test<Operation>& test,
                              const ckprof_problem& problem,
                              const typename Operation::param& param,
                              ckprof_plan& plan,
                              ckprof_report report,
                              void* context)
{
    plan = {0, problem.split_k};
    if(problem.ndim != test.ndim)
    {
        const std::string why = "a kernel for " + std::to_string(test.ndim) +
                                "D problems, this one is " + std::to_string(problem.ndim) + "D";
        report(context, "dimensions", why.c_str());
        report_untested(report, context);
        return CKPROF_REJECTED;
    }
    if(plan.split_k < 0 && test.deduce_split_k != nullptr)
        plan.split_k = choose_split_k(test, param);
    if constexpr(requires { Operation::rejects(problem, report, context); })
    {
        if(Operation::rejects(problem, report, context))
        {
            report_untested(report, context);
            return CKPROF_REJECTED;
        }
    }
    bool rejected = test.launcher != nullptr && test.launcher(param, plan.split_k, report, context);
    if(!rejected && plan.split_k < 1)
    {
        // CK Tile itself accepts such values here and there, and then launches an empty grid.
        const std::string why =
            "split_k = " + std::to_string(plan.split_k) +
            (plan.split_k < 0 ? ": the kernel does not choose it by itself" : " is less than 1");
        report(context, "split-k", why.c_str());
        rejected = true;
    }
    // What the launcher rejects may be what CK Tile's own test could not stand. The host model's
    // can, but for splits that are no number.
    bool all_tested = !rejected;
    bool supported  = true;
#ifdef CKPROF_HAS_REJECTION_REASON
    const ck_tile::host_model::collect_rejections all;
    const auto kernel = rejected ? test.kernel_alone : test.kernel;
    if(kernel != nullptr && plan.split_k > 0)
    {
        supported  = kernel(param, plan.split_k);
        all_tested = ck_tile::host_model::were_all_conditions_tested();
    }
    for(const ck_tile::host_model::rejection& rejection : ck_tile::host_model::unmet_requirements())
    {
        report(context, rejection.condition.c_str(), rejection.reason.c_str());
        rejected = true;
    }
#else
    if(!rejected) supported = test.kernel(param, plan.split_k);
#endif
    if(!supported && !rejected)
    {
        // This test is one condition, and nobody knows more about it.
        report(context, "support-test", "the kernel's own support test rejects the problem");
        return CKPROF_REJECTED;
    }
    if(rejected && !all_tested) report_untested(report, context);
    if(rejected) return CKPROF_REJECTED;
    if(test.workspace_bytes != nullptr)
        plan.workspace_bytes = test.workspace_bytes(param, plan.split_k);
    return CKPROF_OK;
}

// For callers that want to know only why a run was rejected: the first reason.
struct first_reason
{
    char* buffer;
    size_t size;

    static void keep(void* context, const char*, const char* message)
    {
        auto& reason = *static_cast<first_reason*>(context);
        copy_text(message, reason.buffer, reason.size);
        reason.size = 0;
    }
};

// Launches that are timed together, one if there are none: only that makes the launcher wait for
// the kernel.
inline ck_tile::stream_config timed_launches(int32_t launches)
{
    ck_tile::stream_config config{};
    config.time_kernel_ = true;
    config.cold_niters_ = 0;
    config.nrepeat_     = launches > 0 ? launches : 1;
    return config;
}

// The three functions of one kernel. Launcher is what the kernel's header defines, HostArgs the
// type that its launch() takes.
template <typename Operation, typename Launcher, typename HostArgs>
struct functions
{
    static constexpr support_test<Operation> make_test()
    {
        support_test<Operation> test{Operation::template spatial_dimensions<Launcher>(),
                                     &Launcher::is_supported,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr};
        if constexpr(requires { &Launcher::rejects; }) test.launcher = &Launcher::rejects;
        if constexpr(requires { &Launcher::workspace_bytes; })
            test.workspace_bytes = &Launcher::workspace_bytes;
        if constexpr(requires { &Launcher::deduce_split_k; })
            test.deduce_split_k = &Launcher::deduce_split_k;
        if constexpr(requires { &Launcher::kernel_supports; })
            test.kernel_alone = &Launcher::kernel_supports;
        return test;
    }

    static constexpr support_test<Operation> test = make_test();

    static HostArgs make_args([[maybe_unused]] const ckprof_problem& problem,
                              const typename Operation::param& param,
                              const ckprof_buffers& buffers,
                              int k_batch)
    {
        if constexpr(requires {
                         Operation::template make_args<HostArgs>(problem, param, buffers, k_batch);
                     })
        {
            return Operation::template make_args<HostArgs>(problem, param, buffers, k_batch);
        }
        else
        {
            return Operation::template make_args<HostArgs>(param, buffers, k_batch);
        }
    }

    CKPROF_COLD static ckprof_status is_supported(const ckprof_problem* problem,
                                                  ckprof_plan* plan,
                                                  ckprof_report report,
                                                  void* context) noexcept
    {
        try
        {
            return ask<Operation>(
                test, *problem, Operation::make_param(*problem), *plan, report, context);
        }
        catch(...)
        {
            char reason[512];
            report_exception(reason, sizeof(reason));
            report(context, "exception", reason);
            return CKPROF_FAILED;
        }
    }

    CKPROF_COLD static ckprof_status instance_string(char* text, size_t text_size) noexcept
    {
        try
        {
            if constexpr(requires { Launcher::get_instance_string(); })
            {
                copy_text(Launcher::get_instance_string().c_str(), text, text_size);
                return CKPROF_OK;
            }
            else
            {
                copy_text("built without CK_EXPERIMENTAL_BUILDER", text, text_size);
                return CKPROF_FAILED;
            }
        }
        catch(...)
        {
            return report_exception(text, text_size);
        }
    }

    // Not cold: the compiler would take the kernel for cold as well.
    static ckprof_status run(const ckprof_problem* problem,
                             const ckprof_buffers* buffers,
                             int32_t launches,
                             double* time_ms,
                             char* reason,
                             size_t reason_size) noexcept
    {
        try
        {
            *time_ms         = 0;
            const auto param = Operation::make_param(*problem);
            ckprof_plan plan{};
            first_reason why{reason, reason_size};
            const auto status =
                ask<Operation>(test, *problem, param, plan, &first_reason::keep, &why);
            if(status != CKPROF_OK) return status;
#ifdef CKPROF_SUPPORT_ONLY
            (void)buffers;
            (void)launches;
            copy_text("built to answer questions, not to run", reason, reason_size);
            return CKPROF_FAILED;
#else
            const HostArgs args    = make_args(*problem, param, *buffers, plan.split_k);
            const float elapsed_ms = Launcher::launch(args, timed_launches(launches));
            if(launches > 0) *time_ms = elapsed_ms;
            return CKPROF_OK;
#endif
        }
        catch(...)
        {
            return report_exception(reason, reason_size);
        }
    }
};

template <typename Operation, typename Launcher, typename HostArgs>
constexpr ckprof_kernel table_row_of(const char* key, const char* name)
{
    using row = functions<Operation, Launcher, HostArgs>;
    return {key, name, &row::is_supported, &row::instance_string, &row::run};
}

} // namespace ckprof::entry

#endif
