// SPDX-License-Identifier: MIT
#include "core/wave.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/workgroup.hpp"

namespace ckprof::emulator {

Mode Mode::from_bits(uint32_t bits)
{
    Mode mode;
    mode.round_32          = bits & 3;
    mode.round_64          = bits >> 2 & 3;
    mode.flush_32_inputs   = (bits & 1U << 4) == 0;
    mode.flush_32_outputs  = (bits & 1U << 5) == 0;
    mode.flush_64_inputs   = (bits & 1U << 6) == 0;
    mode.flush_64_outputs  = (bits & 1U << 7) == 0;
    mode.clamp_overflow    = (bits & 1U << 23) != 0;
    mode.clamp_nan_to_zero = (bits & 1U << 8) != 0;
    mode.ieee              = (bits & 1U << 9) != 0;
    mode.plain             = (bits & 0xff) == 0xf0;
    return mode;
}

uint32_t Mode::bits() const
{
    return static_cast<uint32_t>(round_32) | static_cast<uint32_t>(round_64) << 2 |
           (flush_32_inputs ? 0U : 1U << 4) | (flush_32_outputs ? 0U : 1U << 5) |
           (flush_64_inputs ? 0U : 1U << 6) | (flush_64_outputs ? 0U : 1U << 7) |
           (clamp_overflow ? 1U << 23 : 0U) | (clamp_nan_to_zero ? 1U << 8 : 0U) |
           (ieee ? 1U << 9 : 0U);
}

uint64_t Wave::read_special(const Operand& operand) const
{
    switch(operand.kind)
    {
    case Operand::Kind::scc: return scc ? 1 : 0;
    case Operand::Kind::vccz: return vcc() == 0 ? 1 : 0;
    case Operand::Kind::execz: return exec() == 0 ? 1 : 0;
    case Operand::Kind::aperture:
    {
        constexpr uint64_t last = 0xffffffff;
        const bool shared       = operand.number <= 236;
        const uint64_t begin    = shared ? Workgroup::shared_base : Workgroup::private_base;
        return operand.number % 2 == 1 ? begin : begin + last;
    }
    default: return operand.value;
    }
}

bool Wave::find_other_global(uint64_t address, uint64_t bytes)
{
    for(size_t i = 1; i < recent.size(); ++i)
        if(recent[i].contains(address, bytes))
        {
            std::swap(recent[0], recent[i]);
            return true;
        }
    const auto found = group->launch->memory->find(address, bytes);
    if(!found) return false;
    std::rotate(recent.begin(), recent.end() - 1, recent.end());
    recent[0] = *found;
    return true;
}

void Wave::global_fault(const Instruction& instruction,
                        uint64_t address,
                        unsigned bytes,
                        bool write_)
{ throw MemoryFault(*this, instruction, address, bytes, write_); }

} // namespace ckprof::emulator
