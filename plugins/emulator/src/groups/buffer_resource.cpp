// SPDX-License-Identifier: MIT
#include "groups/buffer_resource.hpp"

#include "core/errors.hpp"

namespace ckprof::emulator {

BufferAccess::BufferAccess(Wave& wave, const Instruction& i)
    : wave_(wave),
      buffer_(wave, i.resource),
      immediate_(static_cast<uint32_t>(i.immediate)),
      scalar_offset_(wave.read32(i.scalar_offset)),
      interleaved_(buffer_.swizzled && (i.index_enabled || buffer_.add_thread_id))
{
    const VectorRegister* registers = &wave.vector[i.source[0].number];
    if(i.index_enabled) index_ = registers->lane;
    if(i.offset_enabled)
    {
        offset_ = registers[i.index_enabled ? 1 : 0].lane;
        for(int lane = 0; lane < lane_count; ++lane) most_ = std::max(most_, offset_[lane]);
    }
    const auto scratch = reinterpret_cast<uint64_t>(wave.scratch.data());
    scratch_           = interleaved_ && !wave.scratch.empty() && buffer_.base >= scratch &&
                         buffer_.base - scratch < wave.scratch.size();
    address_.base      = scratch_ ? scratch : 0;
}

LaneMask BufferAccess::lanes(unsigned bytes, unsigned from) const
{
    const LaneMask active = wave_.exec();
    alignas(64) uint8_t within[lane_count];
    if(index_ != nullptr && buffer_.stride != 0)
    { // structured: the index alone decides
        for(int lane = 0; lane < lane_count; ++lane) within[lane] = index_[lane] < buffer_.records;
        return active & mask_of(within);
    }
    // an index that is the lane's number is not checked
    if(index_ == nullptr && buffer_.add_thread_id) return active;
    // raw: the offset of the last byte; sums of 32 bits do not wrap
    const uint64_t end = immediate_ + scalar_offset_ + from + bytes;
    if(end > buffer_.records) return 0;
    const auto last = static_cast<uint32_t>(buffer_.records - end);
    if(most_ <= last) return active;
    for(int lane = 0; lane < lane_count; ++lane) within[lane] = offset_[lane] <= last;
    return active & mask_of(within);
}

void BufferAccess::place(unsigned from)
{
    const uint64_t begin = buffer_.base + scalar_offset_ - address_.base;
    const uint64_t fixed = immediate_ + from;
    if(!interleaved_ && index_ == nullptr && !buffer_.add_thread_id)
    {
        if(offset_ == nullptr)
            std::fill_n(address_.of, lane_count, begin + fixed);
        else
            for(int lane = 0; lane < lane_count; ++lane)
                address_.of[lane] = begin + fixed + offset_[lane];
        return;
    }
    constexpr uint64_t element = 4;
    const uint64_t rows = buffer_.index_stride, stride = buffer_.stride;
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const uint64_t index  = (index_ == nullptr ? 0 : uint64_t{index_[lane]}) +
                                (buffer_.add_thread_id ? static_cast<uint64_t>(lane) : 0);
        const uint64_t offset = fixed + (offset_ == nullptr ? 0 : offset_[lane]);
        // swizzled: 4 bytes of `rows` elements lie side by side
        address_.of[lane] =
            begin + (interleaved_ ? (index / rows * stride + offset / element * element) * rows +
                                        index % rows * element + offset % element
                                  : index * stride + offset);
    }
}

const LaneAddresses& BufferAccess::addresses(
    const Instruction& i, LaneMask lanes, unsigned bytes, bool write, unsigned from)
{
    place(from);
    if(scratch_)
        for_each_lane(lanes, [&](int lane) {
            const uint64_t offset = address_.of[lane];
            if(offset >= wave_.scratch.size() || wave_.scratch.size() - offset < bytes)
                throw MemoryFault(wave_, i, address_.base + offset, bytes, write);
        });
    else if(index_ != nullptr || buffer_.add_thread_id ||
            !wave_.holds_global(buffer_.base + scalar_offset_ + immediate_ + from,
                                uint64_t{most_} + bytes))
        check_lanes(wave_, i, address_, lanes, bytes, write);
    return address_;
}

} // namespace ckprof::emulator
