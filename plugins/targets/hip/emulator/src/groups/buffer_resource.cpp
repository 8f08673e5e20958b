// SPDX-License-Identifier: MIT
#include "groups/buffer_resource.hpp"

#include "core/errors.hpp"

namespace ckprof::emulator {

BufferAccess::BufferAccess(Wave& wave, const Instruction& i)
    : wave_(wave),
      buffer_(wave, i.resource),
      exec_(wave.exec()),
      scalar_offset_(wave.read32(i.scalar_offset)),
      interleaved_(buffer_.swizzled && (i.index_enabled || buffer_.add_thread_id)),
      range_(buffer_.add_thread_id && !i.index_enabled ? Range::everything
             : i.index_enabled && buffer_.stride != 0  ? Range::index
                                                       : Range::bytes)
{
    const auto immediate = static_cast<uint32_t>(i.immediate);
    if(i.index_enabled)
        std::memcpy(index_, wave.vector[i.source[0].number].lane, sizeof(index_));
    else
        std::fill_n(index_, lane_count, 0);
    if(i.offset_enabled)
    {
        const uint32_t* offset = wave.vector[i.source[0].number + (i.index_enabled ? 1U : 0U)].lane;
        for(int lane = 0; lane < lane_count; ++lane)
            offset_[lane] = uint64_t{offset[lane]} + immediate;
    }
    else
        std::fill_n(offset_, lane_count, immediate);
    const auto scratch = reinterpret_cast<uint64_t>(wave.scratch.data());
    scratch_           = interleaved_ && !wave.scratch.empty() && buffer_.base >= scratch &&
                         buffer_.base - scratch < wave.scratch.size();
    address_.base      = scratch_ ? scratch : 0;
}

LaneMask BufferAccess::in_range(unsigned bytes, unsigned from) const
{
    alignas(64) uint8_t within[lane_count];
    switch(range_)
    {
    case Range::everything: return exec_;
    case Range::index:
        for(int lane = 0; lane < lane_count; ++lane) within[lane] = index_[lane] < buffer_.records;
        break;
    case Range::bytes:
    {
        // without overflow: sums of 32 bits are of 64 bits here
        const int64_t last = int64_t{buffer_.records} - scalar_offset_ - from - bytes;
        if(last < 0) return 0;
        for(int lane = 0; lane < lane_count; ++lane)
            within[lane] = static_cast<int64_t>(offset_[lane]) <= last;
        break;
    }
    }
    return mask_of(within) & exec_;
}

const LaneAddresses& BufferAccess::addresses(unsigned from)
{
    const uint64_t begin = buffer_.base + scalar_offset_ - address_.base;
    if(interleaved_)
    {
        constexpr uint64_t element = 4;
        const uint64_t rows = buffer_.index_stride, stride = buffer_.stride;
        for(int lane = 0; lane < lane_count; ++lane)
        {
            const uint64_t index =
                index_[lane] + (buffer_.add_thread_id ? static_cast<uint64_t>(lane) : 0);
            const uint64_t offset = offset_[lane] + from;
            address_.of[lane]     = begin +
                                    (index / rows * stride + offset / element * element) * rows +
                                    index % rows * element + offset % element;
        }
    }
    else if(range_ == Range::bytes && !buffer_.add_thread_id)
        for(int lane = 0; lane < lane_count; ++lane)
            address_.of[lane] = begin + offset_[lane] + from;
    else
        for(int lane = 0; lane < lane_count; ++lane)
        {
            const uint64_t index =
                index_[lane] + (buffer_.add_thread_id ? static_cast<uint64_t>(lane) : 0);
            address_.of[lane] = begin + offset_[lane] + from + index * buffer_.stride;
        }
    return address_;
}

void BufferAccess::check(const Instruction& i, LaneMask lanes, unsigned bytes, bool write)
{
    if(!scratch_)
    {
        check_lanes(wave_, i, address_, lanes, bytes, write);
        return;
    }
    for_each_lane(lanes, [&](int lane) {
        const uint64_t offset = address_.of[lane];
        if(offset >= wave_.scratch.size() || wave_.scratch.size() - offset < bytes)
            throw MemoryFault(wave_, i, address_.base + offset, bytes, write);
    });
}

} // namespace ckprof::emulator
