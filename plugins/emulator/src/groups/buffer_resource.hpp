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

    // Active lanes for which `bytes` from the n-th byte of the element on are within the buffer.
    LaneMask lanes(unsigned bytes, unsigned from = 0) const;
    // Their addresses, after a look at whether the device may touch them: MemoryFault if the
    // descriptor says so, but no allocation holds them.
    const LaneAddresses& addresses(const Instruction& instruction,
                                   LaneMask lanes,
                                   unsigned bytes,
                                   bool write,
                                   unsigned from = 0);

    // Whether the registers of an element lie side by side.
    bool contiguous() const { return !interleaved_; }
    Space space() const { return scratch_ ? Space::scratch : Space::global; }

private:
    void place(unsigned from);

    Wave& wave_;
    BufferResource buffer_;
    const uint32_t* index_  = nullptr; // of each lane, or none
    const uint32_t* offset_ = nullptr;
    uint64_t immediate_, scalar_offset_;
    uint32_t most_ = 0; // of offset_
    bool interleaved_, scratch_ = false;
    LaneAddresses address_;
};

} // namespace ckprof::emulator
