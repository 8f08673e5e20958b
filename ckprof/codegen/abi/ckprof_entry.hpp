// SPDX-License-Identifier: MIT
//
// From a launcher to its row in the table of a kernel library.
//
// Every kernel's translation unit includes this file behind the kernel's header, which declares CK
// Tile. What does not depend on the kernel is no template, and what must be one is kept short: this
// file is compiled as often as there are kernels.
#ifndef CKPROF_ENTRY_HPP
#define CKPROF_ENTRY_HPP

#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "ckprof_abi.h"

#if __has_include("ck_tile/host_model/refusal.hpp")
#include "ck_tile/host_model/refusal.hpp"
#define CKPROF_HAS_REFUSAL_REASON 1
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

using lengths = std::vector<ck_tile::long_index_t>;

CKPROF_COLD inline lengths spatial(const int64_t* values, int32_t ndim)
{ return lengths(values, values + ndim); }

CKPROF_COLD inline ck_tile::conv::ConvParam conv_param(const ckprof_problem& problem)
{
    if(problem.ndim < 1 || problem.ndim > 3)
        throw std::invalid_argument("a problem has 1, 2 or 3 spatial dimensions");
    return ck_tile::conv::ConvParam(problem.ndim,
                                    problem.groups,
                                    problem.batch,
                                    problem.out_channels,
                                    problem.in_channels,
                                    spatial(problem.filter, problem.ndim),
                                    spatial(problem.input, problem.ndim),
                                    spatial(problem.strides, problem.ndim),
                                    spatial(problem.dilations, problem.ndim),
                                    spatial(problem.left_pads, problem.ndim),
                                    spatial(problem.right_pads, problem.ndim));
}

using support_test = bool (*)(const ck_tile::conv::ConvParam& param, int k_batch);

// Asks a kernel whether it supports a problem that is itself well-formed.
CKPROF_COLD inline ckprof_status test_support(support_test test,
                                              int ndim,
                                              const ckprof_problem& problem,
                                              const ck_tile::conv::ConvParam& param,
                                              char* reason,
                                              size_t reason_size)
{
    if(problem.ndim != ndim)
    {
        copy_text("the kernel has another number of spatial dimensions", reason, reason_size);
        return CKPROF_REFUSED;
    }
    // CK Tile itself accepts such values here and there, and then launches an empty grid.
    if(problem.split_k < 1)
    {
        copy_text("split_k must be 1 or more", reason, reason_size);
        return CKPROF_REFUSED;
    }
#ifdef CKPROF_HAS_REFUSAL_REASON
    ck_tile::host_model::clear_refusal();
#endif
    if(test(param, problem.split_k)) return CKPROF_OK;
    const char* why = "the kernel's own support test refuses the problem";
#ifdef CKPROF_HAS_REFUSAL_REASON
    const std::string& refusal = ck_tile::host_model::last_refusal();
    if(!refusal.empty()) why = refusal.c_str();
#endif
    copy_text(why, reason, reason_size);
    return CKPROF_REFUSED;
}

// A launch that is timed once: only that makes the launcher wait for the kernel.
inline ck_tile::stream_config single_run()
{
    ck_tile::stream_config config{};
    config.time_kernel_ = true;
    config.cold_niters_ = 0;
    config.nrepeat_     = 1;
    return config;
}

// The three functions of one kernel. Launcher is what the kernel's header defines, HostArgs the
// type that its launch() takes.
template <typename Launcher, typename HostArgs>
struct functions
{
    CKPROF_COLD static ckprof_status
    is_supported(const ckprof_problem* problem, char* reason, size_t reason_size) noexcept
    {
        try
        {
            return test_support(&Launcher::is_supported,
                                Launcher::NDimSpatial,
                                *problem,
                                conv_param(*problem),
                                reason,
                                reason_size);
        }
        catch(...)
        {
            return report_exception(reason, reason_size);
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
                             int32_t time_it,
                             double* time_ms,
                             char* reason,
                             size_t reason_size) noexcept
    {
        try
        {
            *time_ms          = 0;
            const auto param  = conv_param(*problem);
            const auto status = test_support(&Launcher::is_supported,
                                             Launcher::NDimSpatial,
                                             *problem,
                                             param,
                                             reason,
                                             reason_size);
            if(status != CKPROF_OK) return status;
            const HostArgs args(
                param, buffers->input, buffers->weight, {}, buffers->output, problem->split_k);
            const float elapsed_ms = Launcher::launch(args, single_run());
            if(time_it != 0) *time_ms = elapsed_ms;
            return CKPROF_OK;
        }
        catch(...)
        {
            return report_exception(reason, reason_size);
        }
    }
};

template <typename Launcher, typename HostArgs>
constexpr ckprof_kernel table_row(const char* key, const char* name)
{
    using row = functions<Launcher, HostArgs>;
    return {key, name, &row::is_supported, &row::instance_string, &row::run};
}

} // namespace ckprof::entry

#endif
