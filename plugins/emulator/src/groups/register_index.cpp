// SPDX-License-Identifier: MIT
// Vector registers by index: between s_set_gpr_idx_on and _off, numbers of vector registers are
// relative to M0. Compilers index arrays in registers so.
#include "core/wave.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

// M0 holds the index in bits 7:0, and which operands are relative in bits 15:12.
constexpr uint32_t index_bits = 0xff, which_bits = 0xf000;

void set_bits(Wave& wave, uint32_t mask, uint32_t value)
{
    uint32_t& m0 = wave.scalar[scalar::m0];
    m0           = (m0 & ~mask) | (value & mask);
}

void set_index(Wave& wave, const Instruction& i)
{ set_bits(wave, index_bits, wave.read32(i.source[0])); }

void set_which(Wave& wave, const Instruction& i)
{ set_bits(wave, which_bits, static_cast<uint32_t>(i.immediate) << 12); }

void nothing(Wave&, const Instruction&) {}

bool ends(const Instruction& i) { return i.execute == &nothing; }

bool is_vector_alu(const Instruction& i)
{
    return i.info != nullptr && i.info->encoding >= Encoding::vop2 &&
           i.info->encoding <= Encoding::vop3p;
}

void shift(Operand& operand, uint32_t index)
{
    // 256 plain registers, as many for accumulation
    if(operand.kind == Operand::Kind::vector)
        operand.number =
            static_cast<uint16_t>((operand.number & 256) | ((operand.number + index) & 255));
}

Instruction relative(const Wave& wave, const Instruction& i)
{
    const uint32_t index = wave.scalar[scalar::m0] & index_bits;
    const uint32_t which = wave.scalar[scalar::m0] >> 12 & 15;
    Instruction shifted  = i;
    for(unsigned s = 0; s < 3; ++s)
        if((which >> s & 1) != 0) shift(shifted.source[s], index);
    if((which & 8) != 0) shift(shifted.destination, index);
    return shifted;
}

// Executes what follows until the end of the mode: everything else is spared a look at it.
void execute_indexed(Wave& wave, const Instruction& i)
{
    set_index(wave, i);
    set_which(wave, i);
    while(wave.state == WaveState::running)
    {
        const Instruction& next = *wave.pc++;
        ++wave.executed;
        if(ends(next)) return;
        const Instruction shifted = is_vector_alu(next) ? relative(wave, next) : next;
        if(wave.observer != nullptr) wave.observer->before(wave, shifted);
        if(is_vector_alu(next))
            shifted.execute(wave, shifted);
        else
            next.execute(wave, next);
        if(wave.observer != nullptr) wave.observer->after(wave, shifted);
    }
}

constexpr NamedHandler handlers[] = {
    {"s_set_gpr_idx_on", &execute_indexed},
    {"s_set_gpr_idx_idx", &set_index},
    {"s_set_gpr_idx_mode", &set_which},
    {"s_set_gpr_idx_off", &nothing},
};

} // namespace

HandlerTable register_index_handlers() { return handlers; }

} // namespace ckprof::emulator
