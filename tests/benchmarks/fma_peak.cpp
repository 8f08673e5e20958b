// Measures the machine's fp32 multiply-add peak: independent accumulators in registers, one thread
// per core. Usage: fma_peak THREADS SECONDS; prints GFLOP/s.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#if defined(__AVX512F__)
constexpr int width = 64;
#elif defined(__AVX__)
constexpr int width = 32;
#else
constexpr int width = 16;
#endif
using vector = float __attribute__((vector_size(width)));

// Enough chains to hide a latency of up to 6 cycles on two units.
constexpr int chains  = 12;
constexpr int repeats = 100'000;

static float burn(float seed)
{
    vector sums[chains];
    vector factor = {}, addend = {};
    factor += seed;
    addend += seed * 1e-3f;
    // different starts: equal chains would be computed only once
    for(int chain = 0; chain < chains; ++chain)
    {
        sums[chain] = factor * static_cast<float>(chain + 1);
    }
    for(int i = 0; i < repeats; ++i)
    {
#pragma GCC unroll 12
        for(int chain = 0; chain < chains; ++chain) { sums[chain] = sums[chain] * factor + addend; }
    }
    vector total = {};
    for(const auto& sum : sums) { total += sum; }
    return total[0];
}

int main(int argc, char** argv)
{
    const int threads    = argc > 1 ? std::atoi(argv[1]) : 1;
    const double seconds = argc > 2 ? std::atof(argv[2]) : 0.5;
    using clock          = std::chrono::steady_clock;
    std::vector<double> rates(static_cast<std::size_t>(threads));
    std::vector<std::thread> pool;
    const auto start = clock::now();
    for(int thread = 0; thread < threads; ++thread)
    {
        pool.emplace_back([&, thread] {
            volatile float sink = 0;
            volatile float seed = 0.999f; // read anew each time, so that no round can be left out
            long rounds         = 0;
            double elapsed      = 0;
            do
            {
                sink = burn(seed);
                ++rounds;
                elapsed = std::chrono::duration<double>(clock::now() - start).count();
            } while(elapsed < seconds);
            (void)sink;
            const double flop = 2.0 * chains * repeats * (width / sizeof(float));
            rates[static_cast<std::size_t>(thread)] = flop * static_cast<double>(rounds) / elapsed;
        });
    }
    for(auto& thread : pool) { thread.join(); }
    double sum = 0;
    for(const double rate : rates) { sum += rate; }
    std::printf("%.3f\n", sum / 1e9);
    return 0;
}
