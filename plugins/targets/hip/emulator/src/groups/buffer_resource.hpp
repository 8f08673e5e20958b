// SPDX-License-Identifier: MIT
// Buffers: a descriptor in four scalar registers says where they lie, how they are addressed and
// which accesses are within them.
#pragma once

#include "core/scratch.hpp"
#include "groups/memory.hpp"

namespace ckprof::emulator {

struct BufferResource
{
    uint64_t base;
    uint32_t stride;
    uint32_t records; // bytes of raw buffers, else elements of `stride` bytes
    uint32_t index_stride;
    bool swizzled, add_thread_id;

    BufferResource(const Wave& wave, const Operand& registers)
    {
        const uint32_t* word = wave.scalar.data() + registers.number;
        base                 = word[0] | uint64_t{word[1] & 0xffff} << 32;
        stride               = word[1] >> 16 & 0x3fff;
        records              = word[2];
        index_stride         = 8U << (word[3] >> 21 & 3);
        swizzled             = word[1] >> 31 != 0;
        add_thread_id        = (word[3] >> 23 & 1) != 0;
        // the field of the data format holds more bits of the stride then
        if(add_thread_id) stride |= (word[3] >> 15 & 15) << 14;
    }
};

// Addresses of the lanes of a buffer instruction.
class BufferAccess
{
public:
    BufferAccess(Wave& wave, const Instruction& instruction);

    // All active lanes are within the buffer with all `bytes`, which lie side by side.
    bool whole(unsigned bytes) const { return !interleaved_ && in_range(bytes, 0) == exec_; }

    // Active lanes within the buffer with `bytes` from the n-th byte on, that is, the lanes that
    // an element is read or written for; sets their addresses.
    LaneMask lanes(unsigned bytes, unsigned from = 0) const { return in_range(bytes, from); }
    const LaneAddresses& addresses(unsigned from = 0);

    LaneMask exec() const { return exec_; }
    Space space() const { return scratch_ ? Space::scratch : Space::global; }
    // MemoryFault where the descriptor lets lanes touch what the device must not.
    void check(const Instruction& instruction, LaneMask lanes, unsigned bytes, bool write);

private:
    LaneMask in_range(unsigned bytes, unsigned from) const;

    Wave& wave_;
    BufferResource buffer_;
    LaneMask exec_;
    uint32_t scalar_offset_;
    bool interleaved_, scratch_ = false;
    enum class Range : uint8_t
    {
        everything, // the index is the thread's
        index,
        bytes,
    } range_;
    uint32_t index_[lane_count];
    uint64_t offset_[lane_count]; // without the scalar one
    LaneAddresses address_;
};

} // namespace ckprof::emulator
