// SPDX-License-Identifier: MIT
// What instructions that access memory have in common: lanes with an address each, and how bytes
// there become registers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/wave.hpp"
#include "isa/decoder.hpp"

namespace ckprof::emulator {

// What one lane accesses.
struct Element
{
    unsigned bytes;        // 1, 2, or 32-bit registers
    bool sign     = false; // loads of less than 32 bits extend the sign
    unsigned half = 0;     // d16: 1 the lower 16 bits of a register, 2 the upper ones

    constexpr unsigned registers() const { return (bytes + 3) / 4; }
    constexpr uint32_t register_bits() const
    { return half == 0 ? ~0U : half == 1 ? 0xffffU : 0xffff0000U; }
};

// The bits of M0 that are an offset in LDS; gfx950 has more than 64 KiB.
inline uint32_t lds_base_bits(const Wave& wave)
{ return wave.program->architecture() == Architecture::gfx950 ? 0x3ffff : 0xffff; }

// An address per lane. `base` is added to find the bytes in this process: 0 for global memory,
// whose addresses are those of this process, the begin of LDS or scratch for offsets in them.
struct LaneAddresses
{
    alignas(64) uint64_t of[lane_count];
    uint64_t base = 0;

    std::byte* at(int lane) const { return reinterpret_cast<std::byte*>(base + of[lane]); }
};

template <typename Visit>
void for_each_lane(LaneMask lanes, Visit&& visit)
{
    for(; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

// The lanes of a comparison, from one byte for each.
inline LaneMask mask_of(const uint8_t (&is)[lane_count])
{
    LaneMask lanes = 0;
    for(int group = 0; group < lane_count; group += 8)
    {
        uint64_t bytes;
        std::memcpy(&bytes, is + group, 8);
        // moves the lowest bit of each byte into the upper one
        lanes |= ((bytes & 0x0101010101010101) * 0x0102040810204080 >> 56) << group;
    }
    return lanes;
}

namespace memory_detail {

using Quad = uint32_t __attribute__((vector_size(16)));
using Pair = uint64_t __attribute__((vector_size(16)));

// Turns four lanes of four registers into four registers of four lanes, and back.
inline void transpose(Quad (&q)[4])
{
    const Quad a = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5);
    const Quad b = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5);
    const Quad c = __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);
    const Quad d = __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);
    q[0]         = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    q[1]         = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    q[2]         = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    q[3]         = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

template <typename T>
T at(const std::byte* from)
{
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

// Four lanes of 64 or 128 bits into registers.
template <unsigned bytes>
void read_four(const LaneAddresses& address, int lane, VectorRegister* const* to)
{
    if constexpr(bytes == 16)
    {
        Quad q[4] = {at<Quad>(address.at(lane)),
                     at<Quad>(address.at(lane + 1)),
                     at<Quad>(address.at(lane + 2)),
                     at<Quad>(address.at(lane + 3))};
        transpose(q);
        for(int d = 0; d < 4; ++d) std::memcpy(to[d]->lane + lane, &q[d], 16);
    }
    else
    {
        const Pair first  = {at<uint64_t>(address.at(lane)), at<uint64_t>(address.at(lane + 1))};
        const Pair second = {at<uint64_t>(address.at(lane + 2)),
                             at<uint64_t>(address.at(lane + 3))};
        const Quad a = (Quad)first, b = (Quad)second;
        const Quad low  = __builtin_shufflevector(a, b, 0, 2, 4, 6);
        const Quad high = __builtin_shufflevector(a, b, 1, 3, 5, 7);
        std::memcpy(to[0]->lane + lane, &low, 16);
        std::memcpy(to[1]->lane + lane, &high, 16);
    }
}

template <unsigned bytes>
void write_four(const LaneAddresses& address, int lane, const VectorRegister* from)
{
    const auto part = [&](unsigned d) {
        return at<Quad>(reinterpret_cast<const std::byte*>(from[d].lane + lane));
    };
    if constexpr(bytes == 16)
    {
        Quad q[4] = {part(0), part(1), part(2), part(3)};
        transpose(q);
        for(int k = 0; k < 4; ++k) std::memcpy(address.at(lane + k), &q[k], 16);
    }
    else
    {
        const Quad low = part(0), high = part(1);
        const Pair first         = (Pair)__builtin_shufflevector(low, high, 0, 4, 1, 5);
        const Pair last          = (Pair)__builtin_shufflevector(low, high, 2, 6, 3, 7);
        const uint64_t values[4] = {first[0], first[1], last[0], last[1]};
        for(int k = 0; k < 4; ++k) std::memcpy(address.at(lane + k), &values[k], 8);
    }
}

} // namespace memory_detail

template <Element e>
uint32_t loaded(const std::byte* from)
{
    uint32_t value = 0;
    if constexpr(e.bytes == 1)
    {
        uint8_t byte;
        std::memcpy(&byte, from, 1);
        value = e.sign ? static_cast<uint32_t>(int32_t{static_cast<int8_t>(byte)}) : byte;
    }
    else if constexpr(e.bytes == 2)
    {
        uint16_t half;
        std::memcpy(&half, from, 2);
        value = e.sign ? static_cast<uint32_t>(int32_t{static_cast<int16_t>(half)}) : half;
    }
    else
        std::memcpy(&value, from, 4);
    return e.half == 2 ? value << 16 : value;
}

template <Element e>
void read_lane(const LaneAddresses& address, int lane, VectorRegister* const* to)
{
    const std::byte* from = address.at(lane);
    for(unsigned d = 0; d < e.registers(); ++d) to[d]->lane[lane] = loaded<e>(from + 4 * d);
}

// Bytes of the lanes into registers; other lanes stay as they are.
template <Element e>
void read_lanes(const LaneAddresses& address, LaneMask lanes, VectorRegister* const* to)
{
    for_each_lane(lanes, [&](int lane) { read_lane<e>(address, lane, to); });
}

// The same, with 0 in other lanes: as if these read from where nothing but 0 is.
template <Element e>
void read_lanes_or_zero(const LaneAddresses& given, LaneMask lanes, VectorRegister* const* to)
{
    alignas(16) static constexpr std::byte zeros[16] = {};
    LaneAddresses replaced;
    if(lanes != all_lanes)
    {
        const uint64_t nowhere = reinterpret_cast<uint64_t>(zeros);
        for(int lane = 0; lane < lane_count; ++lane)
            replaced.of[lane] = (lanes >> lane & 1) != 0 ? given.base + given.of[lane] : nowhere;
    }
    const LaneAddresses& address = lanes == all_lanes ? given : replaced;
    if constexpr(e.bytes == 16 || e.bytes == 8)
        for(int lane = 0; lane < lane_count; lane += 4)
            memory_detail::read_four<e.bytes>(address, lane, to);
    else
        for(int lane = 0; lane < lane_count; ++lane) read_lane<e>(address, lane, to);
}

template <Element e>
void stored(std::byte* to, uint32_t value)
{ // little-endian: the lowest bytes come first
    if constexpr(e.half == 2) value >>= 16;
    std::memcpy(to, &value, e.bytes < 4 ? e.bytes : 4);
}

template <Element e>
void write_lanes(const LaneAddresses& address, LaneMask lanes, const VectorRegister* from)
{
    const auto write = [&](int lane) {
        std::byte* to = address.at(lane);
        for(unsigned d = 0; d < e.registers(); ++d) stored<e>(to + 4 * d, from[d].lane[lane]);
    };
    if(lanes != all_lanes)
        for_each_lane(lanes, write);
    else if constexpr(e.bytes == 16 || e.bytes == 8)
        for(int lane = 0; lane < lane_count; lane += 4)
            memory_detail::write_four<e.bytes>(address, lane, from);
    else
        for(int lane = 0; lane < lane_count; ++lane) write(lane);
}

// Registers that a load writes once a wait covers it. `clear`: with 0 in all lanes for now.
struct LoadResult
{ VectorRegister* to[4]; };

template <Element e>
LoadResult issue_load(
    Wave& wave, PendingQueue& queue, const Instruction& instruction, LaneMask lanes, bool clear)
{
    PendingOperation& operation = wave.issue(queue, instruction, e.registers());
    LoadResult result{};
    for(unsigned d = 0; d < e.registers(); ++d)
    {
        PendingRegister& to = queue.at(operation, d);
        to.kind             = PendingRegister::Kind::vector;
        to.number           = static_cast<uint16_t>(instruction.destination.number + d);
        to.lanes            = lanes;
        to.bits             = e.register_bits();
        if(clear) fill(to.value, 0);
        result.to[d] = &to.value;
    }
    return result;
}

// Loads that go to LDS instead: consecutive for the lanes, from M0 and the offset on.
template <Element e>
LoadResult
issue_load_to_lds(Wave& wave, PendingQueue& queue, const Instruction& instruction, LaneMask lanes)
{
    PendingOperation& operation = wave.issue(queue, instruction, e.registers());
    LoadResult result{};
    const uint32_t begin = (wave.scalar[scalar::m0] & lds_base_bits(wave)) +
                           static_cast<uint32_t>(instruction.immediate);
    for(unsigned d = 0; d < e.registers(); ++d)
    {
        PendingRegister& to = queue.at(operation, d);
        to.kind             = PendingRegister::Kind::lds;
        to.lanes            = lanes;
        to.lds_offset       = begin + 4 * d;
        to.lds_step         = 4 * e.registers();
        fill(to.value, 0);
        result.to[d] = &to.value;
    }
    return result;
}

// All lanes may touch their bytes of global memory, or MemoryFault.
inline void check_lanes(Wave& wave,
                        const Instruction& instruction,
                        const LaneAddresses& address,
                        LaneMask lanes,
                        unsigned bytes,
                        bool write)
{
    if(lanes == 0) return;
    uint64_t least = ~uint64_t{0}, most = 0;
    if(lanes == all_lanes)
        for(const uint64_t a : address.of)
        {
            least = std::min(least, a);
            most  = std::max(most, a);
        }
    else
        for_each_lane(lanes, [&](int lane) {
            least = std::min(least, address.of[lane]);
            most  = std::max(most, address.of[lane]);
        });
    if(most - least < uint64_t{1} << 31 && wave.holds_global(least, most - least + bytes)) return;
    for_each_lane(
        lanes, [&](int lane) { wave.check_global(instruction, address.of[lane], bytes, write); });
}

inline MemoryAccess access_of(Space space,
                              Access kind,
                              const LaneAddresses& address,
                              LaneMask lanes,
                              unsigned bytes,
                              const Operand& data,
                              unsigned first_byte = 0)
{
    return {space,
            kind,
            lanes,
            address.of,
            bytes,
            data.kind == Operand::Kind::vector ? static_cast<int>(data.number) : -1,
            first_byte};
}

} // namespace ckprof::emulator
