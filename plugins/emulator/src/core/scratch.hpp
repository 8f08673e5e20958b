// SPDX-License-Identifier: MIT
// Scratch memory of a wave: lane by lane the same offsets of 4 bytes lie side by side, as the
// device interleaves them. Instructions with their own scratch addresses, flat addresses in the
// private aperture and buffers that are swizzled for 64 lanes therefore see the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wave.hpp"

namespace ckprof::emulator {

constexpr uint64_t scratch_row_bytes = 4 * lane_count;

// In Wave::scratch, of a byte that a lane addresses by its own offset.
constexpr uint64_t scratch_offset(unsigned lane, uint64_t offset)
{ return offset / 4 * scratch_row_bytes + lane * 4 + offset % 4; }

// Size of Wave::scratch.
constexpr size_t scratch_bytes(uint32_t lane_bytes)
{ return (size_t{lane_bytes} + 3) / 4 * scratch_row_bytes; }

// The buffer that kernels of gfx90a access their scratch through, in registers that they get when
// they begin (with 0 as the offset of the wave): swizzled by 64 lanes, the lane is the index.
inline std::array<uint32_t, 4> scratch_descriptor(const Wave& wave)
{
    const auto base                  = reinterpret_cast<uint64_t>(wave.scratch.data());
    constexpr uint32_t swizzle       = 1U << 31;
    constexpr uint32_t index_of_64   = 3U << 21;
    constexpr uint32_t add_thread_id = 1U << 23;
    return {static_cast<uint32_t>(base),
            static_cast<uint32_t>(base >> 32 & 0xffff) | swizzle,
            ~0U,
            index_of_64 | add_thread_id};
}

} // namespace ckprof::emulator
