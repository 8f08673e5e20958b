// SPDX-License-Identifier: MIT
// Descriptors of operand tiles for warpgroup products: 16-bit elements or TF32 in rows of 128
// bytes, with the copy engine's 128-byte swizzle.
#pragma once

#include <cstdint>

namespace ck_tile::cuda_model {

// Rows of a stage; one row is 64 elements of K (of TF32: 32), or of M or N where these are
// contiguous.
inline constexpr int hopper_row_bytes = 128;
inline constexpr int hopper_k         = 64;
// 64 rows of 128 bytes.
inline constexpr int hopper_chunk_bytes = 8192;

// Bits: 0-13 address / 16, 16-29 leading offset / 16, 32-45 stride offset / 16, 62 swizzle of 128
// bytes. Rows repeat every 8 (1024 bytes). Where K is contiguous the leading offset means nothing;
// else it leads from 64 columns to the next 64.
constexpr std::uint64_t make_descriptor(std::uint32_t shared_address, bool k_contiguous)
{
    const std::uint64_t leading = k_contiguous ? 1 : hopper_chunk_bytes / 16;
    return (std::uint64_t{shared_address & 0x3ffffu} >> 4) | (leading << 16) |
           (std::uint64_t{1024 / 16} << 32) | (std::uint64_t{1} << 62);
}

// What 16 steps of K (of TF32: 8) add to a descriptor: 32 bytes along a row, or 16 rows.
constexpr std::uint64_t descriptor_k_step(bool k_contiguous)
{ return k_contiguous ? 32 / 16 : 16 * hopper_row_bytes / 16; }

// What 64 rows of M (or columns of N) add: the next chunk in both layouts.
inline constexpr std::uint64_t descriptor_chunk_step = hopper_chunk_bytes / 16;

} // namespace ck_tile::cuda_model
