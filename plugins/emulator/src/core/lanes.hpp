// SPDX-License-Identifier: MIT
// 64 lanes of 32 bits, written so that a compiler makes vector instructions of the loops.
#pragma once

#include <cstdint>

namespace ckprof::emulator {

constexpr int lane_count     = 64;
using LaneMask               = uint64_t;
constexpr LaneMask all_lanes = ~LaneMask{0};

struct alignas(64) VectorRegister
{ uint32_t lane[lane_count]; };

// Copies the lanes of a mask.
inline void merge(VectorRegister& to, const VectorRegister& from, LaneMask lanes)
{
    if(lanes == all_lanes)
    {
        to = from;
        return;
    }
    for(int half = 0; half < 2; ++half)
    {
        const auto bits = static_cast<uint32_t>(lanes >> (32 * half));
        for(int n = 0; n < 32; ++n)
        {
            const int lane      = 32 * half + n;
            const uint32_t take = 0U - (bits >> n & 1);
            to.lane[lane]       = (from.lane[lane] & take) | (to.lane[lane] & ~take);
        }
    }
}

inline void fill(VectorRegister& to, uint32_t value)
{
    for(uint32_t& lane : to.lane) lane = value;
}

} // namespace ckprof::emulator
