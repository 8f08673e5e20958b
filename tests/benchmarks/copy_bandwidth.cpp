// Measures the bandwidth of copying memory with all threads: bytes read plus bytes written. Usage:
// copy_bandwidth THREADS SECONDS BYTES; BYTES is the size of source and of destination; prints
// GB/s.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

int main(int argc, char** argv)
{
    const int threads    = argc > 1 ? std::atoi(argv[1]) : 1;
    const double seconds = argc > 2 ? std::atof(argv[2]) : 0.5;
    const auto bytes     = static_cast<std::size_t>(argc > 3 ? std::atoll(argv[3]) : 1ll << 26);
    using clock          = std::chrono::steady_clock;
    std::vector<char> source(bytes, 1), destination(bytes, 2);
    double best      = 0;
    const auto start = clock::now();
    do
    {
        const auto began = clock::now();
        std::vector<std::thread> pool;
        for(int thread = 0; thread < threads; ++thread)
        {
            pool.emplace_back([&, thread] {
                const std::size_t first =
                    bytes * static_cast<std::size_t>(thread) / static_cast<std::size_t>(threads);
                const std::size_t last = bytes * static_cast<std::size_t>(thread + 1) /
                                         static_cast<std::size_t>(threads);
                std::memcpy(destination.data() + first, source.data() + first, last - first);
            });
        }
        for(auto& thread : pool) { thread.join(); }
        const double elapsed = std::chrono::duration<double>(clock::now() - began).count();
        best                 = std::max(best, 2.0 * static_cast<double>(bytes) / elapsed);
    } while(std::chrono::duration<double>(clock::now() - start).count() < seconds);
    volatile char sink = destination[bytes / 2];
    (void)sink;
    std::printf("%.3f\n", best / 1e9);
    return 0;
}
