// SPDX-License-Identifier: MIT
// What this machine reaches at most with the threads that kernels get: copying memory, and
// multiplying and adding in registers.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "ck_tile/host_model/device.hpp"
#include "ckprof_target.h"

namespace {

using steady = std::chrono::steady_clock;

double seconds_since(steady::time_point start) noexcept
{ return std::chrono::duration<double>(steady::now() - start).count(); }

// Runs work(thread) once per thread.
template <typename Work>
void on_all_threads(int threads, const Work& work)
{
    std::vector<std::thread> helpers;
    helpers.reserve(static_cast<size_t>(threads));
    try
    {
        for(int thread = 1; thread < threads; ++thread) helpers.emplace_back(work, thread);
    }
    catch(...)
    {
        for(std::thread& helper : helpers) helper.join();
        throw;
    }
    work(0);
    for(std::thread& helper : helpers) helper.join();
}

// What the device does when nothing else disturbs it, but not by a single measurement that ended
// while other threads were idle already.
double undisturbed(std::vector<double>& rates)
{
    const auto place = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() * 9 / 10);
    std::nth_element(rates.begin(), place, rates.end());
    return *place;
}

struct free_memory
{
    void operator()(char* memory) const noexcept { std::free(memory); }
};

using buffer = std::unique_ptr<char, free_memory>;

// Bytes read and written per second.
double copy_rate(size_t bytes, double seconds, int threads)
{
    constexpr size_t page = 4096;
    const size_t share    = bytes / static_cast<size_t>(threads) / page * page;
    const size_t whole    = share * static_cast<size_t>(threads);
    if(whole == 0) return 0;
    const buffer source(static_cast<char*>(std::aligned_alloc(page, whole)));
    const buffer destination(static_cast<char*>(std::aligned_alloc(page, whole)));
    if(source == nullptr || destination == nullptr) return 0;
    // Untouched pages may all be the same zero page; each thread touches what it copies.
    on_all_threads(threads, [&](int thread) {
        const size_t first = share * static_cast<size_t>(thread);
        std::memset(source.get() + first, 1, share);
        std::memset(destination.get() + first, 2, share);
    });
    std::vector<double> rates;
    const auto start = steady::now();
    do
    {
        const auto began = steady::now();
        on_all_threads(threads, [&](int thread) {
            const size_t first = share * static_cast<size_t>(thread);
            std::memcpy(destination.get() + first, source.get() + first, share);
        });
        rates.push_back(2.0 * static_cast<double>(whole) / seconds_since(began));
    } while(seconds_since(start) < seconds);
    return undisturbed(rates);
}

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif
using lanes = float __attribute__((vector_size(vector_bytes)));

// Enough chains to hide a latency of up to 6 cycles on two units.
constexpr int chains  = 12;
constexpr int repeats = 50'000;
constexpr double flop = 2.0 * chains * repeats * (vector_bytes / sizeof(float));

float multiply_and_add(float seed) noexcept
{
    lanes sums[chains];
    lanes factor = {}, addend = {};
    factor += seed;
    addend += seed * 1e-3f;
    // Different starts: equal chains would be computed only once.
    for(int chain = 0; chain < chains; ++chain)
    {
        sums[chain] = factor * static_cast<float>(chain + 1);
    }
    for(int i = 0; i < repeats; ++i)
    {
#pragma GCC unroll 12
        for(int chain = 0; chain < chains; ++chain) sums[chain] = sums[chain] * factor + addend;
    }
    lanes total = {};
    for(const lanes& sum : sums) total += sum;
    return total[0];
}

double multiply_add_rate(double seconds, int threads)
{
    std::vector<double> sums(static_cast<size_t>(threads));
    on_all_threads(threads, [&](int thread) {
        // Volatile: read anew and kept each time, so that no round can be left out.
        volatile float seed = 0.999f, sink = 0;
        std::vector<double> rates;
        const auto start = steady::now();
        do
        {
            const auto began = steady::now();
            sink             = multiply_and_add(seed);
            rates.push_back(flop / seconds_since(began));
        } while(seconds_since(start) < seconds);
        (void)sink;
        sums[static_cast<size_t>(thread)] = undisturbed(rates);
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

} // namespace

extern "C" ckprof_status
ckprof_measure_peak(ckprof_peak peak, size_t bytes, double seconds, double* rate)
{
    try
    {
        const int threads = std::max(1, ck_tile::host_model::worker_count());
        // Every type is multiplied as fp32.
        *rate = peak == CKPROF_PEAK_COPY ? copy_rate(bytes, seconds, threads)
                                         : multiply_add_rate(seconds, threads);
        return *rate > 0 ? CKPROF_OK : CKPROF_REJECTED;
    }
    catch(const std::exception&)
    {
        // No memory or no threads are to be had.
        return CKPROF_REJECTED;
    }
}
