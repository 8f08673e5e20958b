// SPDX-License-Identifier: MIT
#include "groups/cross_lane.hpp"

#include <array>
#include <cstddef>

namespace ckprof::emulator {
namespace {

// Lane that each lane reads, -1 where there is none.
int source_lane(unsigned control, int lane)
{
    constexpr int row_lanes = 16;
    const int row = lane / row_lanes * row_lanes, column = lane % row_lanes;
    const int distance = static_cast<int>(control & 15);
    const auto within  = [&](int other) { return other >= 0 && other < row_lanes; };
    if(control < 0x100) // quad_perm
        return lane / 4 * 4 + static_cast<int>(control >> (2 * (lane % 4)) & 3);
    switch(control >> 4)
    {
    case 0x10: return within(column + distance) ? lane + distance : -1;  // row_shl
    case 0x11: return within(column - distance) ? lane - distance : -1;  // row_shr
    case 0x12: return row + (column - distance + row_lanes) % row_lanes; // row_ror
    case 0x15: return row + distance;                                    // row_newbcast
    default: break;
    }
    switch(control)
    {
    case 0x130: return lane + 1 < lane_count ? lane + 1 : -1; // wave_shl
    case 0x134: return (lane + 1) % lane_count;               // wave_rol
    case 0x138: return lane - 1;                              // wave_shr
    case 0x13c: return (lane + lane_count - 1) % lane_count;  // wave_ror
    case 0x140: return row + row_lanes - 1 - column;          // row_mirror
    case 0x141: return lane / 8 * 8 + 7 - lane % 8;           // row_half_mirror
    case 0x142: return row - 1;                               // row_bcast:15
    case 0x143: return lane >= 32 ? 31 : -1;                  // row_bcast:31
    default: return -1;
    }
}

using SourceLanes = std::array<int8_t, lane_count>;

const SourceLanes& source_lanes(unsigned control)
{
    static const auto all = [] {
        std::array<SourceLanes, 512> table;
        for(unsigned c = 0; c < table.size(); ++c)
            for(int lane = 0; lane < lane_count; ++lane)
                table[c][static_cast<size_t>(lane)] = static_cast<int8_t>(source_lane(c, lane));
        return table;
    }();
    return all[control & 511];
}

bool is_read(int source, LaneMask exec) { return source >= 0 && (exec >> source & 1) != 0; }

} // namespace

LaneMask cross_lane_written(const CrossLane& dpp, LaneMask exec)
{
    const SourceLanes& sources = source_lanes(dpp.control);
    LaneMask written           = 0;
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const bool selected =
            (dpp.row_mask >> (lane / 16) & 1) != 0 && (dpp.bank_mask >> (lane / 4 % 4) & 1) != 0;
        if(selected && (dpp.bound_control || is_read(sources[static_cast<size_t>(lane)], exec)))
            written |= LaneMask{1} << lane;
    }
    return written;
}

VectorRegister cross_lane_values(const CrossLane& dpp, const VectorRegister& from, LaneMask exec)
{
    const SourceLanes& sources = source_lanes(dpp.control);
    VectorRegister values;
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const int source  = sources[static_cast<size_t>(lane)];
        values.lane[lane] = is_read(source, exec) ? from.lane[source] : 0;
    }
    return values;
}

} // namespace ckprof::emulator
