// SPDX-License-Identifier: MIT
//
// Reference kernels of a GPU, as extreme as can be: one that multiplies and adds in registers
// alone, one that copies memory which no cache holds. What slows them down is the machine, never a
// kernel's code: they share nothing with the kernels that they run beside. Include the runtime's
// header first, as for ckprof_device_api.hpp.
#ifndef CKPROF_DEVICE_CANARY_HPP
#define CKPROF_DEVICE_CANARY_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>

#include "ckprof_device_api.hpp"
#include "ckprof_device_peaks.hpp"

// Tests have a multiple of the work done.
#ifndef CKPROF_CANARY_WORK
#define CKPROF_CANARY_WORK 1
#endif

namespace ckprof::canary {

using peaks::check;
using peaks::memory;

// The work of a compute unit is the same on every device of a model and in every process: times are
// compared.
constexpr int threads           = 256;
constexpr int residents         = 8; // blocks that a compute unit is given
constexpr int chains            = 8; // enough to hide the latency of a multiply-add
constexpr int rounds            = CKPROF_CANARY_WORK << 12;
constexpr std::size_t unit_copy = std::size_t{CKPROF_CANARY_WORK * 3} << 20;
// Of the device's memory, what source and destination take at most.
constexpr std::size_t memory_share = 64;

__global__ void __launch_bounds__(threads) multiply_and_add(float seed, float* out)
{
    float sums[chains];
    for(int chain = 0; chain < chains; ++chain)
        sums[chain] = seed * static_cast<float>(chain + 1 + threadIdx.x);
    for(int round = 0; round < rounds; ++round)
    {
#pragma unroll
        for(float& sum : sums) sum = __builtin_fmaf(sum, seed, 1e-3f);
    }
    float total = 0;
    for(const float sum : sums) total += sum;
    // Never true: what is computed must seem to be needed.
    if(total == -1.2345e-30f) *out = total;
}

__global__ void __launch_bounds__(threads)
    copy(const float4* source, float4* destination, std::size_t count)
{
    const std::size_t step = std::size_t{gridDim.x} * threads;
    for(std::size_t at = std::size_t{blockIdx.x} * threads + threadIdx.x; at < count; at += step)
        destination[at] = source[at];
}

// What both kernels need, kept for as long as the process lives.
struct bench
{
    unsigned blocks;
    std::size_t copied; // bytes
    memory source, destination;
    peaks::events watch;

    static std::size_t units()
    {
        int device = 0, count = 0;
        check(CKPROF_RUNTIME(GetDevice)(&device));
        check(CKPROF_RUNTIME(DeviceGetAttribute)(
            &count, CKPROF_RUNTIME(DevAttrMultiProcessorCount), device));
        return static_cast<std::size_t>(count);
    }

    static std::size_t bytes()
    {
        std::size_t free = 0, total = 0;
        check(device_api::memory_info(&free, &total));
        return std::min(units() * unit_copy, total / memory_share) / 4096 * 4096;
    }

    bench()
        : blocks(static_cast<unsigned>(residents * units())),
          copied(bytes()),
          source(copied),
          destination(copied)
    { check(device_api::fill_async(source.address, 1, copied)); }

    // The median of the last runs, once they do not get faster any more: the first ones raise the
    // clock.
    template <typename Launch>
    double median_ms(const Launch& launch) const
    {
        constexpr int most_runs  = 8;
        constexpr double settled = 0.98;
        std::array<double, 3> last{};
        for(int run = 0; run < most_runs; ++run)
        {
            std::rotate(last.begin(), last.begin() + 1, last.end());
            last.back() = watch.milliseconds(launch);
            if(last.front() > 0 && last.back() >= settled * last.front()) break;
        }
        std::sort(last.begin(), last.end());
        return last[1];
    }

    double time_ms(int which) const
    {
        auto* from = static_cast<float4*>(source.address);
        auto* to   = static_cast<float4*>(destination.address);
        if(which == 0)
            return median_ms([&] {
                multiply_and_add<<<blocks, threads, 0, nullptr>>>(
                    0.999f, static_cast<float*>(destination.address));
            });
        return median_ms(
            [&] { copy<<<blocks, threads, 0, nullptr>>>(from, to, copied / sizeof(float4)); });
    }
};

} // namespace ckprof::canary

// Times one of the kernels: 0 computes, 1 copies.
//
// device: its index.
// ms: receives the time of one launch.
// Returns 0, or another number where there is no such kernel, no memory or no device.
extern "C" __attribute__((visibility("default"))) int
ckprof_canary_ms(int which, int device, int /*threads*/, double* ms) noexcept
{
    try
    {
        ckprof::peaks::check(ckprof::device_api::set_device(device));
        static const ckprof::canary::bench bench;
        if(which != 0 && which != 1) return 1;
        *ms = bench.time_ms(which);
        return 0;
    }
    catch(const std::exception&)
    {
        // An error that stays is found by what comes next; lack of memory is none.
        (void)ckprof::device_api::take_error();
        return 1;
    }
}

#endif
