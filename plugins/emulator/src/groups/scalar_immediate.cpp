// SPDX-License-Identifier: MIT
// Scalar instructions with 16 bits of their own: sopk, and registers of the wave's state.
#include <array>

#include "core/errors.hpp"
#include "groups/scalar.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

// Of s_getreg and s_setreg: which register, which bits.
struct StateField
{
    unsigned number, first, count;

    explicit StateField(int32_t immediate)
        : number(static_cast<unsigned>(immediate) & 63),
          first(static_cast<unsigned>(immediate) >> 6 & 31),
          count((static_cast<unsigned>(immediate) >> 11 & 31) + 1)
    {}
    uint32_t mask() const { return static_cast<uint32_t>((uint64_t{1} << count) - 1); }
};

constexpr unsigned mode_register = 1, status_register = 2, trap_status_register = 3,
                   allocation_of_registers = 5, allocation_of_lds = 6, xcc_number = 20;

uint32_t read_state(const Wave& wave, unsigned number)
{
    constexpr uint32_t execz = 1 << 9, vccz = 1 << 10;
    switch(number)
    {
    case mode_register: return wave.mode.bits();
    case status_register:
        return (wave.scc ? 1U : 0U) | (wave.exec() == 0 ? execz : 0) | (wave.vcc() == 0 ? vccz : 0);
    case trap_status_register:
    case allocation_of_registers:
    case allocation_of_lds:
    case xcc_number:
    default: return 0; // identifiers of hardware: the first of everything
    }
}

void get_state(Wave& wave, const Instruction& i)
{
    const StateField field(i.immediate);
    wave.write(i.destination, read_state(wave, field.number) >> field.first & field.mask());
}

void set_state(Wave& wave, const Instruction& i, uint32_t value)
{
    const StateField field(i.immediate);
    if(field.number != mode_register) return; // other state is the trap handler's
    const uint32_t mask = field.mask() << field.first;
    wave.mode = Mode::from_bits((wave.mode.bits() & ~mask) | (value << field.first & mask));
}

void set_state_from_register(Wave& wave, const Instruction& i)
{ set_state(wave, i, wave.read32(i.destination)); }

void set_state_from_literal(Wave& wave, const Instruction& i)
{ set_state(wave, i, wave.read32(i.source[0])); }

void move(Wave& wave, const Instruction& i)
{ wave.write(i.destination, static_cast<uint32_t>(i.immediate)); }

void move_if(Wave& wave, const Instruction& i)
{
    if(wave.scc) move(wave, i);
}

void add(Wave& wave, const Instruction& i)
{
    const int64_t sum = int64_t{static_cast<int32_t>(wave.read32(i.destination))} + i.immediate;
    wave.write(i.destination, static_cast<uint32_t>(sum));
    wave.scc = sum != static_cast<int32_t>(sum);
}

void multiply(Wave& wave, const Instruction& i)
{ wave.write(i.destination, wave.read32(i.destination) * static_cast<uint32_t>(i.immediate)); }

template <auto holds>
void compare_signed(Wave& wave, const Instruction& i)
{ wave.scc = holds(static_cast<int32_t>(wave.read32(i.destination)), i.immediate); }

template <auto holds>
void compare_unsigned(Wave& wave, const Instruction& i)
{ wave.scc = holds(wave.read32(i.destination), uint32_t{static_cast<uint16_t>(i.immediate)}); }

constexpr NamedHandler handlers[] = {
    {"s_movk_i32", &move},
    {"s_cmovk_i32", &move_if},
    {"s_addk_i32", &add},
    {"s_mulk_i32", &multiply},
    {"s_cmpk_eq_i32", &compare_signed<relation::eq>},
    {"s_cmpk_lg_i32", &compare_signed<relation::lg>},
    {"s_cmpk_gt_i32", &compare_signed<relation::gt>},
    {"s_cmpk_ge_i32", &compare_signed<relation::ge>},
    {"s_cmpk_lt_i32", &compare_signed<relation::lt>},
    {"s_cmpk_le_i32", &compare_signed<relation::le>},
    {"s_cmpk_eq_u32", &compare_unsigned<relation::eq>},
    {"s_cmpk_lg_u32", &compare_unsigned<relation::lg>},
    {"s_cmpk_gt_u32", &compare_unsigned<relation::gt>},
    {"s_cmpk_ge_u32", &compare_unsigned<relation::ge>},
    {"s_cmpk_lt_u32", &compare_unsigned<relation::lt>},
    {"s_cmpk_le_u32", &compare_unsigned<relation::le>},
    {"s_getreg_b32", &get_state},
    {"s_setreg_b32", &set_state_from_register},
    {"s_setreg_imm32_b32", &set_state_from_literal},
};

} // namespace

HandlerTable scalar_immediate_handlers() { return handlers; }

} // namespace ckprof::emulator
