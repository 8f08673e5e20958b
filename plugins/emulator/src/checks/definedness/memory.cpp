// SPDX-License-Identifier: MIT
#include "checks/definedness/memory.hpp"

#include <algorithm>
#include <string_view>

#include "core/workgroup.hpp"

namespace ckprof::emulator {
namespace {

// Undefined bits of the registers of a lane.
struct LaneRegisters
{
    const Instruction& instruction;
    WaveShadow& shadow;
    int lane;

    uint32_t& at(unsigned number) const
    {
        if(instruction.info->encoding == Encoding::smem) return shadow.scalar[number % 128];
        return shadow.vector[number % 512].lane[lane];
    }
};

uint32_t low_bits(unsigned count) { return count >= 32 ? ~0U : (uint32_t{1} << count) - 1; }

// Bits of up to four loaded bytes reach a register as the bytes themselves do.
void load(uint32_t& to, const DefinednessRule& rule, unsigned first, unsigned bytes, uint32_t bits)
{
    uint64_t value = bits;
    if(rule.extends_sign && (bits >> (8 * bytes - 1) & 1) != 0) value |= ~uint64_t{0} << 8 * bytes;
    const unsigned begin = 8 * first, end = rule.half ? 16 : 32;
    const unsigned up   = rule.upper_half ? 16 : 0;
    const uint32_t mask = (low_bits(end) & ~low_bits(begin)) << up;
    to                  = (to & ~mask) | (static_cast<uint32_t>(value << begin << up) & mask);
}

bool is_swap(std::string_view name)
{
    return name.find("cmpswap") == std::string_view::npos &&
           (name.find("_swap") != std::string_view::npos ||
            name.find("wrxchg") != std::string_view::npos);
}

// First register that gets what was there; -1 without one.
int result_of(const Instruction& i)
{
    if(i.destination.kind != Operand::Kind::vector) return -1;
    return i.info->encoding == Encoding::ds || i.sc0 ? int{i.destination.number} : -1;
}

} // namespace

uint8_t MemoryDefinedness::Bytes::undefined(unsigned byte) const
{
    const uint64_t at = address + byte;
    switch(space)
    {
    case Space::lds: return at < lds.size() ? lds[at] : 0;
    case Space::global: return global == nullptr || global->defined(at, 1) ? 0 : 0xff;
    default:
        const auto found = shadow.scratch.find(at);
        return found == shadow.scratch.end() ? 0xff : found->second;
    }
}

uint32_t MemoryDefinedness::Bytes::undefined(unsigned from, unsigned bytes) const
{
    uint32_t all = 0;
    for(unsigned byte = 0; byte < bytes; ++byte)
        all |= uint32_t{undefined(from + byte)} << 8 * byte;
    return all;
}

// Most of global memory is, and one look says so.
bool MemoryDefinedness::Bytes::all_defined() const
{ return space == Space::global && (global == nullptr || global->defined(address, count)); }

void MemoryDefinedness::Bytes::set(unsigned byte, uint8_t undefined_bits)
{
    const uint64_t at = address + byte;
    if(space == Space::lds)
    {
        if(at < lds.size()) lds[at] = undefined_bits;
    }
    else if(space == Space::scratch)
        shadow.scratch[at] = undefined_bits;
}

DefinedBytes* MemoryDefinedness::global(const Wave& wave, uint64_t address)
{
    if(recent_ == nullptr || !recent_->contains(address))
    {
        DefinedBytes* found = wave.group->launch->memory->definedness(address);
        if(found == nullptr) return nullptr;
        recent_ = found;
    }
    return recent_;
}

std::string MemoryDefinedness::follow(const Wave& wave,
                                      const Instruction& i,
                                      const MemoryAccess& access,
                                      const DefinednessRule& rule,
                                      WaveShadow& shadow,
                                      std::vector<uint8_t>& lds)
{
    std::string wrong;
    const auto first = static_cast<unsigned>(std::max(access.first_register, 0));
    for(int lane = 0; lane < lane_count; ++lane)
    {
        if((access.lanes >> lane & 1) == 0) continue;
        const bool is_global = access.space == Space::global;
        Bytes bytes{access.space,
                    access.address[lane],
                    access.bytes,
                    is_global ? global(wave, access.address[lane]) : nullptr,
                    lds,
                    shadow};
        const LaneRegisters registers{i, shadow, lane};
        const bool defined = bytes.all_defined();
        if(access.access != Access::write && !defined && is_global && bytes.global != nullptr)
        {
            shadow.unwritten_address = bytes.address;
            shadow.unwritten_load    = &i;
        }
        if(access.access == Access::read)
        {
            for(unsigned from = 0; from < access.bytes; from += 4)
            {
                const unsigned at     = access.first_byte + from;
                const unsigned count  = std::min(access.bytes - from, 4U);
                const uint32_t loaded = defined ? 0 : bytes.undefined(from, count);
                if(i.to_lds)
                    load(shadow.to_lds[at / 4].lane[lane], rule, at % 4, count, loaded);
                else if(access.first_register >= 0)
                    load(registers.at(first + at / 4), rule, at % 4, count, loaded);
            }
            continue;
        }
        const bool atomic = access.access == Access::atomic;
        // what is compared with follows what is stored, or the other way round
        const unsigned operands =
            std::string_view(i.info->name).find("cmp") != std::string_view::npos ? 2 : 1;
        bool undefined_data = false, undefined_memory = false;
        uint8_t stored[16] = {};
        for(unsigned byte = 0; access.first_register >= 0 && byte < access.bytes * operands; ++byte)
        {
            if(byte >= access.bytes && (!atomic || i.info->encoding == Encoding::ds)) break;
            const unsigned at  = access.first_byte + byte + (rule.upper_half ? 2 : 0);
            uint32_t& data     = registers.at(first + at / 4);
            const auto of_byte = static_cast<uint8_t>(data >> 8 * (at % 4));
            undefined_data     = undefined_data || of_byte != 0;
            stored[byte % 16]  = of_byte;
            if(of_byte != 0 && is_global) data = 0; // said once
        }
        if(atomic)
        {
            undefined_memory = !defined && bytes.undefined(0, std::min(access.bytes, 4U)) != 0;
            if(access.bytes == 8 && !defined)
                undefined_memory = undefined_memory || bytes.undefined(4, 4) != 0;
            if(const int to = result_of(i); to >= 0)
                for(unsigned from = 0; from < access.bytes; from += 4)
                    registers.at(static_cast<unsigned>(to) + (access.first_byte + from) / 4) =
                        defined ? 0 : bytes.undefined(from, 4);
            const bool swaps = is_swap(i.info->name);
            for(unsigned byte = 0; byte < access.bytes; ++byte)
                bytes.set(byte,
                          swaps                                ? stored[byte]
                          : undefined_data || undefined_memory ? 0xff
                                                               : 0);
            undefined_memory = undefined_memory && !swaps;
        }
        else
            for(unsigned byte = 0; byte < access.bytes; ++byte) bytes.set(byte, stored[byte]);
        if(!is_global) continue;
        if(undefined_data)
            wrong = "undefined bits are stored in global memory";
        else if(undefined_memory && wrong.empty())
            wrong = "an atomic operation changes bytes of global memory that nothing has written";
        if(bytes.global != nullptr) bytes.global->define(bytes.address, access.bytes);
    }
    return wrong;
}

} // namespace ckprof::emulator
