// SPDX-License-Identifier: MIT
// What decides which instruction comes next: branches, calls, barriers, waits, the end.
#include "core/errors.hpp"
#include "core/workgroup.hpp"
#include "isa/decoder.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

void nothing(Wave&, const Instruction&) {}

void go_to(Wave& wave, const Instruction& instruction, const Instruction* target)
{
    if(target == nullptr)
        throw DeviceError(
            Fault::illegal_instruction, "a branch to no instruction", wave, instruction);
    wave.pc = target;
}

template <bool (*taken)(const Wave&)>
void branch(Wave& wave, const Instruction& instruction)
{
    if(taken(wave)) go_to(wave, instruction, instruction.target);
}

bool always(const Wave&) { return true; }
bool scc_clear(const Wave& wave) { return !wave.scc; }
bool scc_set(const Wave& wave) { return wave.scc; }
bool vcc_zero(const Wave& wave) { return wave.vcc() == 0; }
bool vcc_nonzero(const Wave& wave) { return wave.vcc() != 0; }
bool exec_zero(const Wave& wave) { return wave.exec() == 0; }
bool exec_nonzero(const Wave& wave) { return wave.exec() != 0; }

// Addresses of the program counter are those of the following instruction.
uint64_t following(const Wave& wave, const Instruction& instruction)
{ return wave.program->address_of(instruction) + instruction.bytes; }

void get_pc(Wave& wave, const Instruction& i) { wave.write(i.destination, following(wave, i)); }

void set_pc(Wave& wave, const Instruction& i)
{ go_to(wave, i, wave.program->at(wave.read64(i.source[0]))); }

void swap_pc(Wave& wave, const Instruction& i)
{
    const uint64_t target = wave.read64(i.source[0]);
    wave.write(i.destination, following(wave, i));
    go_to(wave, i, wave.program->at(target));
}

void call(Wave& wave, const Instruction& i)
{
    wave.write(i.destination, following(wave, i));
    go_to(wave, i, i.target);
}

void end(Wave& wave, const Instruction&)
{
    wave.vector_memory.deliver(wave, 0);
    wave.local_memory.deliver(wave, 0);
    wave.scalar_memory.deliver(wave, 0);
    wave.state = WaveState::ended;
}

void barrier(Wave& wave, const Instruction& instruction)
{
    if(wave.observer != nullptr) wave.observer->arrives_at_barrier(wave, instruction);
    wave.state = WaveState::at_barrier;
}

// vmcnt in bits 15:14 and 3:0, lgkmcnt in 11:8; expcnt means nothing without exports.
void wait(Wave& wave, const Instruction& instruction)
{
    const unsigned bits   = static_cast<uint16_t>(instruction.immediate);
    const unsigned vector = (bits & 15) | bits >> 14 << 4, local = bits >> 8 & 15;
    wave.vector_memory.deliver(wave, vector);
    // LDS answers in order, and a counter above `local` would say that more of its operations are
    // pending; scalar loads may be the ones that are left
    wave.local_memory.deliver(wave, local);
    if(local == 0) wave.scalar_memory.deliver(wave, 0);
}

void sleep(Wave& wave, const Instruction&) { wave.state = WaveState::yielded; }

void trap(Wave& wave, const Instruction& instruction)
{ throw DeviceError(Fault::aborted, "the kernel aborted (s_trap)", wave, instruction); }

constexpr NamedHandler handlers[] = {
    {"s_nop", &nothing},
    {"s_setprio", &nothing},
    {"s_setkill", &nothing},
    {"s_sethalt", &nothing},
    {"s_wakeup", &nothing},
    {"s_icache_inv", &nothing},
    {"s_incperflevel", &nothing},
    {"s_decperflevel", &nothing},
    {"s_ttracedata", &nothing},
    {"s_sendmsg", &nothing},
    {"s_branch", &branch<always>},
    {"s_cbranch_scc0", &branch<scc_clear>},
    {"s_cbranch_scc1", &branch<scc_set>},
    {"s_cbranch_vccz", &branch<vcc_zero>},
    {"s_cbranch_vccnz", &branch<vcc_nonzero>},
    {"s_cbranch_execz", &branch<exec_zero>},
    {"s_cbranch_execnz", &branch<exec_nonzero>},
    {"s_getpc_b64", &get_pc},
    {"s_setpc_b64", &set_pc},
    {"s_swappc_b64", &swap_pc},
    {"s_call_b64", &call},
    {"s_endpgm", &end},
    {"s_endpgm_saved", &end},
    {"s_barrier", &barrier},
    {"s_waitcnt", &wait},
    {"s_sleep", &sleep},
    {"s_trap", &trap},
};

} // namespace

HandlerTable program_handlers() { return handlers; }

} // namespace ckprof::emulator
