// SPDX-License-Identifier: MIT
#include "timing/loops.hpp"

#include <algorithm>
#include <unordered_map>

namespace ckprof::emulator {
namespace {

bool same_instructions(const WaveTrace& trace, size_t a, size_t b, size_t count)
{
    return std::equal(trace.steps.begin() + static_cast<long>(a),
                      trace.steps.begin() + static_cast<long>(a + count),
                      trace.steps.begin() + static_cast<long>(b),
                      [](const Step& x, const Step& y) {
                          return x.instruction == y.instruction && (x.memory < 0) == (y.memory < 0);
                      });
}

} // namespace

SteadyLoop find_steady_loop(const WaveTrace& trace)
{
    // A loop begins where a branch leads back to. Steps at which each such place was reached:
    std::unordered_map<uint32_t, std::vector<size_t>> heads;
    for(size_t n = 1; n < trace.steps.size(); ++n)
        if(trace.steps[n].instruction <= trace.steps[n - 1].instruction)
            heads[trace.steps[n].instruction].push_back(n);
    SteadyLoop best;
    for(const auto& [head, at] : heads)
    {
        // the longest run of equal iterations
        for(size_t first = 0; first + 1 < at.size();)
        {
            const size_t period = at[first + 1] - at[first];
            size_t last         = first + 1;
            while(last + 1 < at.size() && at[last + 1] - at[last] == period &&
                  same_instructions(trace, at[first], at[last], period))
                ++last;
            if((last - first) * period > best.iterations * best.period)
                best = {at[first], period, last - first};
            first = last;
        }
    }
    return best;
}

size_t common_iterations(const GroupTrace& group)
{
    size_t common = 0;
    for(const WaveTrace& wave : group.waves)
    {
        const size_t own = find_steady_loop(wave).iterations;
        if(own == 0 || (common != 0 && own != common)) return 0;
        common = own;
    }
    return common;
}

GroupTrace shortened(const GroupTrace& group, size_t iterations)
{
    GroupTrace result;
    result.lines_read    = group.lines_read;
    result.lines_written = group.lines_written;
    for(const WaveTrace& wave : group.waves)
    {
        const SteadyLoop loop = find_steady_loop(wave);
        const auto from       = wave.steps.begin();
        const auto at         = [&](size_t n) {
            return from + static_cast<long>(loop.begin + n * loop.period);
        };
        WaveTrace kept;
        kept.memory = wave.memory;
        kept.steps.assign(from, at(0));
        for(size_t n = 0; n < iterations; ++n)
        {
            const size_t taken = n * loop.iterations / iterations;
            kept.steps.insert(kept.steps.end(), at(taken), at(taken + 1));
        }
        kept.steps.insert(kept.steps.end(), at(loop.iterations), wave.steps.end());
        result.waves.push_back(std::move(kept));
    }
    return result;
}

} // namespace ckprof::emulator
