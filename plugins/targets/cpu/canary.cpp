// SPDX-License-Identifier: MIT
// Reference kernels of the CPU, as extreme as can be: one that multiplies and adds in registers
// alone, one that copies memory which no cache holds. What slows them down is the machine, never a
// kernel's code: they share nothing with the kernels that they run beside.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include <sys/mman.h>

// Tests have a multiple of the work done.
#ifndef CKPROF_CANARY_WORK
#define CKPROF_CANARY_WORK 1
#endif

namespace {

using steady = std::chrono::steady_clock;

// The work of a thread is the same on every machine and in every process: times are compared.
constexpr int rounds           = CKPROF_CANARY_WORK << 16;
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t page     = 4096;
// Of source and of destination. Each run copies other parts than the runs before, so that no cache
// holds what it reads; to have the system fill these pages takes 60 ms once.
constexpr std::size_t region      = 48 * mebibyte;
constexpr std::size_t thread_copy = CKPROF_CANARY_WORK * 3 * mebibyte;
constexpr std::size_t most_copied = std::min(CKPROF_CANARY_WORK * 24 * mebibyte, region);

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif
using lanes = float __attribute__((vector_size(vector_bytes)));

// Enough chains to hide a latency of up to 6 cycles on two units.
constexpr int chains = 12;

// Volatile: read anew and kept each time, so that no run can be left out.
volatile float seed = 0.999f;
thread_local volatile float sink;

void multiply_and_add()
{
    const float value = seed;
    lanes sums[chains], factor = {}, addend = {};
    factor += value;
    addend += value * 1e-3f;
    // Different starts: equal chains would be computed only once.
    for(int chain = 0; chain < chains; ++chain)
    {
        sums[chain] = factor * static_cast<float>(chain + 1);
    }
    for(int round = 0; round < rounds; ++round)
    {
#pragma GCC unroll 12
        for(int chain = 0; chain < chains; ++chain) sums[chain] = sums[chain] * factor + addend;
    }
    lanes total = {};
    for(const lanes& sum : sums) total += sum;
    sink = total[0];
}

struct free_memory
{
    void operator()(char* memory) const noexcept { std::free(memory); }
};

// Source and destination of copies, kept for as long as the process lives: to have the system fill
// new pages takes longer than to copy them.
class memory
{
public:
    memory() : bytes_(static_cast<char*>(std::aligned_alloc(page, 2 * region)))
    {
        if(bytes_ == nullptr) throw std::bad_alloc();
#if defined(MADV_NOHUGEPAGE)
        // Whether there are large pages depends on what ran before, and copies on them are faster.
        (void)madvise(bytes_.get(), 2 * region, MADV_NOHUGEPAGE);
#endif
        // Untouched pages may all be the same zero page.
        std::memset(bytes_.get(), 1, 2 * region);
    }

    // Go on to parts that were not copied for longest.
    void advance(std::size_t run) { offset_ = offset_ + 2 * run <= region ? offset_ + run : 0; }

    void copy(int thread, std::size_t share) const
    {
        char* source = bytes_.get() + offset_ + share * static_cast<std::size_t>(thread);
        std::memcpy(source + region, source, share);
    }

private:
    std::size_t offset_ = 0;
    std::unique_ptr<char, free_memory> bytes_;
};

// Threads that start a run together, and have all ended it before the next one begins.
class meeting
{
public:
    // How many there are; until that is known, all wait.
    void expect(std::size_t threads) { expected_ = threads; }

    void arrive()
    {
        const int turn = turn_.load();
        if(++arrived_ == expected_)
        {
            arrived_ = 0;
            ++turn_;
        }
        // On a machine with other work, the one that is waited for may need this CPU.
        for(int looks = 0; turn_.load() == turn; ++looks)
            if(looks > 1000) std::this_thread::yield();
    }

private:
    std::atomic<std::size_t> expected_ = SIZE_MAX, arrived_ = 0;
    std::atomic<int> turn_ = 0;
};

constexpr std::size_t samples = 3;
constexpr int most_runs       = 8;
constexpr double settled      = 0.98;

// The median of the last runs, once they do not get faster any more: the first ones raise the
// clock.
template <typename Work, typename Prepare>
double median_ms(int threads, const Work& work, const Prepare& prepare)
{
    meeting point;
    std::atomic<bool> over = false;
    std::vector<std::thread> helpers;
    const auto help = [&](int thread) {
        for(;;)
        {
            point.arrive();
            if(over) return;
            work(thread);
            point.arrive();
        }
    };
    const auto end = [&] {
        point.expect(helpers.size() + 1);
        over = true;
        point.arrive();
        for(std::thread& helper : helpers) helper.join();
    };
    helpers.reserve(static_cast<std::size_t>(threads));
    try
    {
        for(int thread = 1; thread < threads; ++thread) helpers.emplace_back(help, thread);
    }
    catch(...)
    {
        end();
        throw;
    }
    point.expect(helpers.size() + 1);
    std::array<double, samples> last{};
    for(int run = 0; run < most_runs; ++run)
    {
        prepare();
        point.arrive();
        const auto began = steady::now();
        work(0);
        point.arrive();
        std::rotate(last.begin(), last.begin() + 1, last.end());
        last.back() = std::chrono::duration<double, std::milli>(steady::now() - began).count();
        if(run + 1 >= static_cast<int>(samples) && last.back() >= settled * last.front()) break;
    }
    end();
    std::sort(last.begin(), last.end());
    return last[samples / 2];
}

} // namespace

// Times one of the kernels: 0 computes, 1 copies.
//
// threads: that compute; 0 for one per CPU that the process may use.
// ms: receives the time of one run.
// Returns 0, or another number where there is no such kernel, no memory or no thread.
extern "C" __attribute__((visibility("default"))) int
ckprof_canary_ms(int which, int /*device*/, int threads, double* ms) noexcept
{
    try
    {
        if(threads <= 0)
            threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
        if(which == 0)
        {
            *ms = median_ms(threads, [](int) { multiply_and_add(); }, [] {});
            return 0;
        }
        if(which != 1) return 1;
        static memory copied;
        const std::size_t share =
            std::min(thread_copy, most_copied / static_cast<std::size_t>(threads)) / page * page;
        if(share == 0) return 1;
        *ms = median_ms(
            threads,
            [=](int thread) { copied.copy(thread, share); },
            [=] { copied.advance(share * static_cast<std::size_t>(threads)); });
        return 0;
    }
    catch(const std::exception&)
    {
        return 1;
    }
}
