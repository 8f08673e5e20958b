// SPDX-License-Identifier: MIT
#include "timing/bank_conflicts.hpp"

#include <algorithm>
#include <array>

namespace ckprof::emulator {
namespace {

// Lane that comes n-th: of reads of 128 bits, 0 to 3 come with 20 to 23, 4 to 7 with 16 to 19, 8 to
// 11 with 28 to 31, 12 to 15 with 24 to 27, and the upper half likewise.
constexpr std::array<uint8_t, lane_count> wide_read_order = [] {
    constexpr int begins[] = {0, 20, 4, 16, 8, 28, 12, 24};
    std::array<uint8_t, lane_count> order{};
    for(int n = 0; n < lane_count; ++n)
        order[static_cast<size_t>(n)] =
            static_cast<uint8_t>(n / 32 * 32 + begins[n % 32 / 4] + n % 4);
    return order;
}();

constexpr unsigned most_banks = 64;

} // namespace

LdsCycles lds_cycles(const uint64_t* address,
                     LaneMask lanes,
                     unsigned bytes,
                     bool read,
                     unsigned banks,
                     unsigned cycle_bytes)
{
    const unsigned words = std::max(1U, (bytes + 3) / 4);
    const unsigned group = std::clamp(cycle_bytes / (4 * words), 1U, unsigned{lane_count});
    LdsCycles result;
    for(unsigned begin = 0; begin < lane_count; begin += group)
    {
        // distinct words of each bank; few, so that a list is faster than a set
        std::array<std::array<uint64_t, lane_count>, most_banks> held;
        std::array<uint8_t, most_banks> count{};
        unsigned most = 0;
        for(unsigned n = begin; n < std::min(begin + group, unsigned{lane_count}); ++n)
        {
            const unsigned lane = read && bytes == 16 ? wide_read_order[n] : n;
            if((lanes >> lane & 1) == 0) continue;
            for(unsigned w = 0; w < words; ++w)
            {
                const uint64_t word = address[lane] / 4 + w;
                const auto bank     = static_cast<size_t>(word % banks);
                auto& known         = held[bank];
                auto* const end     = known.data() + count[bank];
                if(std::find(known.data(), end, word) != end || count[bank] == lane_count) continue;
                known[count[bank]++] = word;
                most                 = std::max<unsigned>(most, count[bank]);
            }
        }
        result.all += most;
        if(most > 1) result.spared += most - 1;
    }
    return result;
}

} // namespace ckprof::emulator
