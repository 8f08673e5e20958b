// SPDX-License-Identifier: MIT
// Memory operations that a wave has issued and that no s_waitcnt has covered yet. What they load
// reaches registers when a wait asks for it and no sooner, so that a kernel without the wait
// computes with what was there before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/lanes.hpp"

namespace ckprof::emulator {

struct Instruction;
struct Wave;

// One register of a result, or 32 bits per lane that go to LDS.
struct PendingRegister
{
    enum class Kind : uint8_t
    {
        vector,
        scalar,
        lds, // lane n to lds_offset + n * lds_step
    };
    VectorRegister value;      // of a scalar: lane 0
    LaneMask lanes      = 0;   // that are written
    uint32_t bits       = ~0U; // of each lane that are written; half of them for d16 loads
    uint16_t number     = 0;   // of the vector register, accumulation registers from 256 on
    Kind kind           = Kind::vector;
    uint32_t lds_offset = 0, lds_step = 4;
};

struct PendingOperation
{
    const Instruction* instruction = nullptr;
    size_t first_register          = 0; // for PendingQueue::at
    size_t registers               = 0;
    uint32_t sequence              = 0; // operations that the wave issued before
};

// First in, first out. Storage is kept, so that nothing is allocated once a wave runs; what is
// delivered is dropped even where a loop always leaves an operation pending.
class PendingQueue
{
public:
    // Values of the new registers must be written before the next call.
    PendingOperation& issue(const Instruction& instruction, size_t registers, uint32_t sequence);
    PendingRegister& at(const PendingOperation& operation, size_t index)
    { return registers_[(operation.first_register + index) & (registers_.size() - 1)]; }

    size_t size() const { return operations_.size() - next_; }
    const PendingOperation& oldest() const { return operations_[next_]; }
    // Those from next() on are pending.
    const std::vector<PendingOperation>& operations() const { return operations_; }
    size_t next() const { return next_; }

    // Writes results until at most `remaining` operations are left.
    void deliver(Wave& wave, size_t remaining)
    {
        while(size() > remaining) deliver_oldest(wave);
    }

    // Forgets all of them.
    void clear()
    {
        operations_.clear();
        next_            = 0;
        begin_registers_ = end_registers_;
    }

private:
    void deliver_oldest(Wave& wave);
    void grow();

    std::vector<PendingOperation> operations_;
    std::vector<PendingRegister> registers_; // a ring, as long as a power of two
    size_t next_            = 0;
    size_t begin_registers_ = 0; // of the oldest operation
    size_t end_registers_   = 0;
};

} // namespace ckprof::emulator
