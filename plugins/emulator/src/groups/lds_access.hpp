// SPDX-License-Identifier: MIT
// Addresses of LDS: what lies past its end is read as 0 and not written.
#pragma once

#include "core/workgroup.hpp"
#include "groups/memory.hpp"

namespace ckprof::emulator {

// From offsets in LDS of some lanes to addresses, and the lanes whose bytes all lie in it.
inline LaneMask keep_within_lds(Wave& wave, LaneAddresses& address, LaneMask lanes, unsigned bytes)
{
    const std::vector<std::byte>& lds = wave.group->lds;
    address.base                      = reinterpret_cast<uint64_t>(lds.data());
    alignas(64) uint8_t within[lane_count];
    for(int lane = 0; lane < lane_count; ++lane)
        within[lane] = address.of[lane] + bytes <= lds.size();
    return lanes & mask_of(within);
}

// Offsets of 32 bits in the workgroup's LDS, where sums wrap, and the active lanes whose bytes all
// lie in it.
struct LdsAccess
{
    LaneAddresses address;
    LaneMask lanes;

    LdsAccess(Wave& wave, const VectorRegister& base, uint32_t offset, unsigned bytes)
    {
        const std::vector<std::byte>& lds = wave.group->lds;
        address.base                      = reinterpret_cast<uint64_t>(lds.data());
        uint32_t most                     = 0;
        for(int lane = 0; lane < lane_count; ++lane)
        {
            const uint32_t at = base.lane[lane] + offset;
            address.of[lane]  = at;
            most              = std::max(most, at);
        }
        lanes = wave.exec();
        if(uint64_t{most} + bytes > lds.size())
            lanes = keep_within_lds(wave, address, lanes, bytes);
    }
};

} // namespace ckprof::emulator
