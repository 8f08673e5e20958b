// Measures the bandwidth of copying memory with all threads: bytes read plus bytes written. Usage:
// copy_bandwidth THREADS SECONDS BYTES; BYTES is the size of source and of destination; prints
// GB/s in the median, which is what kernels are compared by.
#include <algorithm>
#include <chrono>
#include <cstddef>
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
    std::vector<double> samples; // seconds
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
        samples.push_back(std::chrono::duration<double>(clock::now() - began).count());
    } while(std::chrono::duration<double>(clock::now() - start).count() < seconds);
    volatile char sink = destination[bytes / 2];
    (void)sink;
    const auto median = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), median, samples.end());
    std::printf("%.3f\n", 2.0 * static_cast<double>(bytes) / *median / 1e9);
    return 0;
}
