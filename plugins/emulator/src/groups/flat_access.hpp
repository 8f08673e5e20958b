// SPDX-License-Identifier: MIT
// Addresses of flat, global and scratch instructions, and accesses to scratch by lanes' offsets.
#pragma once

#include "core/errors.hpp"
#include "core/scratch.hpp"
#include "core/workgroup.hpp"
#include "groups/memory.hpp"

namespace ckprof::emulator {

// vaddr, of 64 bits or of 32 bits beside a scalar base, and the offset.
inline void flat_addresses(Wave& wave, const Instruction& i, LaneAddresses& out)
{
    const auto offset   = static_cast<uint64_t>(int64_t{i.immediate});
    const uint32_t* low = wave.vector[i.source[0].number].lane;
    if(i.scalar_offset.kind == Operand::Kind::scalar)
    {
        const uint64_t begin = wave.scalar64(i.scalar_offset.number) + offset;
        for(int lane = 0; lane < lane_count; ++lane) out.of[lane] = begin + low[lane];
        return;
    }
    const uint32_t* high = wave.vector[i.source[0].number + 1u].lane;
    for(int lane = 0; lane < lane_count; ++lane)
        out.of[lane] = (low[lane] | uint64_t{high[lane]} << 32) + offset;
}

// Offsets of each lane in its own scratch: saddr, vaddr and the offset, as far as there are any.
inline void scratch_offsets(Wave& wave, const Instruction& i, LaneAddresses& out)
{
    const bool scalar = i.scalar_offset.kind == Operand::Kind::scalar;
    const uint32_t begin =
        static_cast<uint32_t>(i.immediate) + (scalar ? wave.scalar[i.scalar_offset.number] : 0);
    if(i.source[0].kind == Operand::Kind::vector)
    {
        const uint32_t* offset = wave.vector[i.source[0].number].lane;
        for(int lane = 0; lane < lane_count; ++lane) out.of[lane] = begin + offset[lane];
    }
    else
        std::fill_n(out.of, lane_count, uint64_t{begin});
}

// The lanes of a flat instruction by where their addresses lie; those of LDS and scratch become
// offsets.
struct FlatLanes
{
    LaneMask global = 0, lds = 0, scratch = 0;

    FlatLanes(Wave& wave, LaneAddresses& address)
    {
        for_each_lane(wave.exec(), [&](int lane) {
            const uint64_t a      = address.of[lane] >> 32 << 32;
            const LaneMask bit    = LaneMask{1} << lane;
            const bool is_lds     = a == Workgroup::shared_base;
            const bool is_scratch = a == Workgroup::private_base;
            (is_lds ? lds : is_scratch ? scratch : global) |= bit;
            if(is_lds || is_scratch) address.of[lane] -= a;
        });
    }
};

// Visits the pieces of lanes' bytes at offsets in their scratch that are side by side, after a look
// at whether all are within: visit(addresses, bytes of a piece, bytes before it).
template <unsigned bytes, typename Visit>
void visit_scratch(Wave& wave,
                   const Instruction& i,
                   const LaneAddresses& offset,
                   LaneMask lanes,
                   bool write,
                   Visit&& visit)
{
    uint64_t all = 0;
    for_each_lane(lanes, [&](int lane) {
        all |= offset.of[lane];
        if(offset.of[lane] + bytes > wave.scratch_lane_bytes)
            throw MemoryFault(wave, i, Workgroup::private_base + offset.of[lane], bytes, write);
    });
    constexpr unsigned widest = bytes < 4 ? bytes : 4;
    const unsigned piece      = all % widest == 0 ? widest : 1;
    LaneAddresses address;
    address.base = reinterpret_cast<uint64_t>(wave.scratch.data());
    for(unsigned from = 0; from < bytes; from += piece)
    {
        for(int lane = 0; lane < lane_count; ++lane)
            address.of[lane] = scratch_offset(static_cast<unsigned>(lane), offset.of[lane] + from);
        visit(address, piece, from);
    }
}

} // namespace ckprof::emulator
