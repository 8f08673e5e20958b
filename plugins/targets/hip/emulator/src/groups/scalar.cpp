// SPDX-License-Identifier: MIT
// Integers and bits of one value per wave: sop1, sop2, sopk, sopc.
#include "core/wave.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

void move(Wave& wave, const Instruction& i)
{
    wave.write(i.destination,
               i.destination.dwords > 1 ? wave.read64(i.source[0]) : wave.read32(i.source[0]));
}

void add_u32(Wave& wave, const Instruction& i)
{
    const uint64_t sum = uint64_t{wave.read32(i.source[0])} + wave.read32(i.source[1]);
    wave.write(i.destination, sum);
    wave.scc = sum >> 32 != 0;
}

constexpr NamedHandler handlers[] = {
    {"s_mov_b32", &move},
    {"s_mov_b64", &move},
    {"s_add_u32", &add_u32},
};

} // namespace

HandlerTable scalar_handlers() { return handlers; }

} // namespace ckprof::emulator
