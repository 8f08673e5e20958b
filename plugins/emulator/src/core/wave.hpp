// SPDX-License-Identifier: MIT
// The state of a wave: 64 lanes that execute one instruction at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/device_memory.hpp"
#include "core/lanes.hpp"
#include "core/observer.hpp"
#include "core/pending.hpp"
#include "isa/instruction.hpp"

namespace ckprof::emulator {

class Program;
struct Workgroup;

enum class WaveState : uint8_t
{
    running,
    at_barrier,
    yielded, // s_sleep: another wave or workgroup may go on
    ended,
};

// Fields of the MODE register that change what instructions compute.
struct Mode
{
    uint8_t round_32     = 0,
            round_64     = 0; // of fp32; of fp64 and fp16. 0 nearest even, 1 up, 2 down, 3 to zero
    bool flush_32_inputs = false, flush_32_outputs = false;
    bool flush_64_inputs = false, flush_64_outputs = false; // of fp64 and fp16
    bool clamp_overflow    = false;                         // FP16_OVFL, also of fp8
    bool clamp_nan_to_zero = false;                         // DX10_CLAMP
    bool ieee              = false;
    // nearest even and no denormals flushed: what arithmetic of the host does
    bool plain = true;

    static Mode from_bits(uint32_t bits); // round 3:0, denormals 7:4, dx10_clamp 8, ieee 9
    uint32_t bits() const;
};

struct Wave
{
    // What registers begin with that neither the dispatcher nor the ABI sets: nothing may be right
    // by luck, and checkers know it again.
    static constexpr uint32_t undefined_value = 0xfba5e11d;

    // by the number that instructions use; 106 vcc, 124 m0, 126 exec
    std::array<uint32_t, 128> scalar{};
    bool scc              = false;
    const Instruction* pc = nullptr; // next to execute
    // 256 plain registers, then 256 for accumulation
    std::vector<VectorRegister> vector = std::vector<VectorRegister>(512);

    Mode mode;
    WaveState state        = WaveState::running;
    Workgroup* group       = nullptr;
    const Program* program = nullptr;
    Observer* observer     = nullptr;
    unsigned number        = 0; // within its workgroup
    uint64_t executed      = 0; // instructions

    PendingQueue vector_memory; // vmcnt: loads and stores of vector instructions, in order
    PendingQueue local_memory;  // lgkmcnt: LDS, in order
    PendingQueue scalar_memory; // lgkmcnt: scalar loads, in any order
    uint32_t issued = 0;        // memory operations so far

    std::vector<std::byte> scratch; // of all lanes, as core/scratch.hpp lays it out
    uint32_t scratch_lane_bytes = 0;
    std::array<Allocation, 4> recent; // of the last global accesses

    // Room for sources that are no vector registers, and for results before they are merged.
    VectorRegister temporary[8];

    LaneMask exec() const { return scalar64(scalar::exec); }
    void set_exec(LaneMask lanes) { set_scalar64(scalar::exec, lanes); }
    LaneMask vcc() const { return scalar64(scalar::vcc); }

    uint64_t scalar64(unsigned number_) const
    { return scalar[number_] | uint64_t{scalar[number_ + 1]} << 32; }
    void set_scalar64(unsigned number_, uint64_t value)
    {
        scalar[number_]     = static_cast<uint32_t>(value);
        scalar[number_ + 1] = static_cast<uint32_t>(value >> 32);
    }

    // Value of a source of a scalar instruction; also of a scalar or constant source of a vector
    // one.
    uint32_t read32(const Operand& operand) const
    {
        if(operand.kind == Operand::Kind::scalar) return scalar[operand.number];
        if(operand.kind == Operand::Kind::constant) return static_cast<uint32_t>(operand.value);
        return static_cast<uint32_t>(read_special(operand));
    }
    uint64_t read64(const Operand& operand) const
    {
        if(operand.kind == Operand::Kind::scalar) return scalar64(operand.number);
        if(operand.kind == Operand::Kind::constant) return operand.value;
        return read_special(operand);
    }
    // Writes one or two registers, as wide as the operand.
    void write(const Operand& operand, uint64_t value)
    {
        scalar[operand.number] = static_cast<uint32_t>(value);
        if(operand.dwords > 1) scalar[operand.number + 1u] = static_cast<uint32_t>(value >> 32);
    }

    // The lanes of the n-th 32 bits of a source: registers in place, anything else as copies in
    // `room`, which the result points to then. Modifiers are not applied.
    const VectorRegister&
    lanes(const Operand& operand, VectorRegister& room, unsigned dword = 0) const
    {
        if(operand.kind == Operand::Kind::vector) return vector[operand.number + dword];
        const uint64_t value =
            operand.dwords > 1 ? read64(operand) >> (32 * dword) : read32(operand);
        fill(room, static_cast<uint32_t>(value));
        return room;
    }
    VectorRegister& result(const Operand& operand, unsigned dword = 0)
    { return vector[operand.number + dword]; }

    // Address of bytes in global memory, after a look at whether the device may touch them.
    template <typename T>
    T load_global(const Instruction& instruction, uint64_t address)
    {
        check_global(instruction, address, sizeof(T), false);
        T value;
        std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(T));
        return value;
    }
    template <typename T>
    void store_global(const Instruction& instruction, uint64_t address, T value)
    {
        check_global(instruction, address, sizeof(T), true);
        std::memcpy(reinterpret_cast<void*>(address), &value, sizeof(T));
    }
    void check_global(const Instruction& instruction, uint64_t address, unsigned bytes, bool write_)
    {
        if(!holds_global(address, bytes)) global_fault(instruction, address, bytes, write_);
    }
    // Whether one allocation holds all bytes.
    bool holds_global(uint64_t address, uint64_t bytes)
    { return recent[0].contains(address, bytes) || find_other_global(address, bytes); }

    // A memory operation whose results are these registers, to be written by the caller. Counters
    // end at 63 and 15: further operations wait for the oldest, as on the device.
    PendingOperation& issue(PendingQueue& queue, const Instruction& instruction, size_t registers)
    {
        const size_t most = &queue == &vector_memory ? 63 : 15;
        if(queue.size() >= most) queue.deliver(*this, most - 1);
        return queue.issue(instruction, registers, issued++);
    }

    void observe(const Instruction& instruction, const MemoryAccess& access)
    {
        if(observer != nullptr) observer->accesses(*this, instruction, access);
    }

private:
    uint64_t read_special(const Operand& operand) const;
    bool find_other_global(uint64_t address, uint64_t bytes);
    [[noreturn]] void
    global_fault(const Instruction& instruction, uint64_t address, unsigned bytes, bool write_);
};

} // namespace ckprof::emulator
