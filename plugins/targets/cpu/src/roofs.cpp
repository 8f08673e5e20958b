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

double median(std::vector<double>& values)
{
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

struct free_memory
{
    void operator()(char* memory) const noexcept { std::free(memory); }
};

using buffer = std::unique_ptr<char, free_memory>;

// Bytes read and written per second in the median copy, which is what kernels are compared by.
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
    std::vector<double> times;
    const auto start = steady::now();
    do
    {
        const auto began = steady::now();
        on_all_threads(threads, [&](int thread) {
            const size_t first = share * static_cast<size_t>(thread);
            std::memcpy(destination.get() + first, source.get() + first, share);
        });
        times.push_back(seconds_since(began));
    } while(seconds_since(start) < seconds);
    return 2.0 * static_cast<double>(whole) / median(times);
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
constexpr int repeats = 20'000;
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
    std::vector<double> rates(static_cast<size_t>(threads));
    on_all_threads(threads, [&](int thread) {
        // Volatile: read anew and kept each time, so that no round can be left out.
        volatile float seed = 0.999f, sink = 0;
        const auto start = steady::now();
        long rounds      = 0;
        double elapsed   = 0;
        do
        {
            sink = multiply_and_add(seed);
            ++rounds;
            elapsed = seconds_since(start);
        } while(elapsed < seconds);
        (void)sink;
        rates[static_cast<size_t>(thread)] = flop * static_cast<double>(rounds) / elapsed;
    });
    double sum = 0;
    for(const double rate : rates) sum += rate;
    return sum;
}

} // namespace

extern "C" ckprof_status
ckprof_measure_roof(ckprof_roof roof, size_t bytes, double seconds, double* rate)
{
    try
    {
        const int threads = std::max(1, ck_tile::host_model::worker_count());
        // Every type is multiplied as fp32.
        *rate = roof == CKPROF_ROOF_COPY ? copy_rate(bytes, seconds, threads)
                                         : multiply_add_rate(seconds, threads);
        return *rate > 0 ? CKPROF_OK : CKPROF_REJECTED;
    }
    catch(const std::exception&)
    {
        // No memory or no threads are to be had.
        return CKPROF_REJECTED;
    }
}
