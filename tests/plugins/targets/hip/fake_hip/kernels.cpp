// SPDX-License-Identifier: MIT
// Kernels of the fake runtime, one per way to treat a device: output[i] = input[i] * weight[0].
#include <cstdio>
#include <stdexcept>
#include <string>

#include "ckprof_abi.h"
#include "ckprof_target.h"
#include "fake_launch.hpp"

namespace {

constexpr double kernel_us = 100;
constexpr double brief_us  = 12;

void check(hipError_t error)
{
    if(error != hipSuccess) throw std::runtime_error(hipGetErrorString(error));
}

struct Launch
{
    const ckprof_problem& problem;
    const ckprof_buffers& buffers;
    int launches;

    size_t count() const
    {
        int64_t n = problem.groups * problem.batch * problem.out_channels;
        for(int i = 0; i < problem.ndim; ++i) n *= problem.input[i];
        return static_cast<size_t>(n);
    }

    // The kernel, which reads so many elements behind its input.
    void start(size_t behind = 0, double microseconds = kernel_us) const
    {
        const size_t n = count();
        const auto b   = buffers;
        check(fake_launch(
            [=] {
                const auto* in  = static_cast<const float*>(b.input);
                const auto* wei = static_cast<const float*>(b.weight);
                auto* out       = static_cast<float*>(b.output);
                for(size_t i = 0; i < n; ++i) out[i] = in[i] * wei[0];
            },
            {{b.input, (n + behind) * sizeof(float)},
             {b.weight, sizeof(float)},
             {b.output, n * sizeof(float)}},
            microseconds));
        check(hipGetLastError());
    }
};

constexpr size_t far = size_t{64} << 20;

// As CK Tile's launcher does it.
template <typename Body>
float timed(Body body)
{
    hipEvent_t start, stop;
    check(hipEventCreate(&start));
    check(hipEventCreate(&stop));
    check(hipEventRecord(start, nullptr));
    body();
    check(hipEventRecord(stop, nullptr));
    check(hipEventSynchronize(stop));
    float ms = 0;
    check(hipEventElapsedTime(&ms, start, stop));
    check(hipEventDestroy(start));
    check(hipEventDestroy(stop));
    return ms;
}

float ok(const Launch& launch)
{
    return timed([&] { launch.start(); });
}

// As CK Tile's launcher, it repeats between two events.
float brief(const Launch& launch)
{
    const float ms = timed([&] {
        for(int i = 0; i < launch.launches; ++i) launch.start(0, brief_us);
    });
    return ms / static_cast<float>(launch.launches);
}

float faults(const Launch& launch)
{
    return timed([&] { launch.start(far); });
}

// Its launcher does not wait: the error is met by whoever waits next.
float faults_quietly(const Launch& launch)
{
    launch.start(far);
    return 0.1F;
}

// Right in its first two runs.
float faults_later(const Launch& launch)
{
    static int runs = 0;
    return timed([&] { launch.start(++runs > 2 ? far : 0); });
}

// Right, and what it has done wrong is met by the next launch.
float leaves_error(const Launch& launch)
{
    const float ms = ok(launch);
    (void)hipFree(const_cast<Launch*>(&launch)); // no memory of the device
    return ms;
}

float keeps_memory(const Launch& launch)
{
    size_t free = 0, total = 0;
    void* kept = nullptr;
    check(hipMemGetInfo(&free, &total));
    check(hipMalloc(&kept, free));
    return ok(launch);
}

template <float (*body)(const Launch&)>
ckprof_status run(const ckprof_problem* problem,
                  const ckprof_buffers* buffers,
                  int32_t launches,
                  double* time_ms,
                  char* reason,
                  size_t size)
{
    try
    {
        *time_ms = body({*problem, *buffers, launches > 0 ? launches : 1});
        return CKPROF_OK;
    }
    catch(const std::exception& error)
    {
        std::snprintf(reason, size, "%s", error.what());
        return CKPROF_FAILED;
    }
}

ckprof_status supported(const ckprof_problem* problem, ckprof_plan* plan, ckprof_report, void*)
{
    *plan = {0, problem->split_k};
    return CKPROF_OK;
}

ckprof_status text(char* buffer, size_t size)
{
    std::snprintf(buffer, size, "%s", "FakeKernel");
    return CKPROF_OK;
}

#define KERNEL(name) {#name, #name, supported, text, run<name>}

const ckprof_kernel table[] = {KERNEL(ok),
                               KERNEL(brief),
                               KERNEL(faults),
                               KERNEL(faults_quietly),
                               KERNEL(faults_later),
                               KERNEL(leaves_error),
                               KERNEL(keeps_memory)};
constexpr uint32_t count    = sizeof(table) / sizeof(*table);

} // namespace

extern "C" const ckprof_library* ckprof_get_library(void)
{
    static const ckprof_kernel* pointers[count];
    for(uint32_t i = 0; i < count; ++i) pointers[i] = &table[i];
    static const ckprof_library library = {
        CKPROF_ABI_VERSION, count, pointers, ckprof_target_table()};
    return &library;
}
