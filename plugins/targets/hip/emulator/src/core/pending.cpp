// SPDX-License-Identifier: MIT
#include "core/pending.hpp"

#include "core/wave.hpp"

namespace ckprof::emulator {

PendingOperation&
PendingQueue::issue(const Instruction& instruction, size_t registers, uint32_t sequence)
{
    if(next_ == operations_.size()) clear();
    PendingOperation& operation = operations_.emplace_back();
    operation.instruction       = &instruction;
    operation.first_register    = used_registers_;
    operation.registers         = registers;
    operation.sequence          = sequence;
    used_registers_ += registers;
    if(registers_.size() < used_registers_) registers_.resize(used_registers_ * 2);
    return operation;
}

void PendingQueue::deliver(Wave& wave, size_t remaining)
{
    while(size() > remaining)
    {
        const PendingOperation& operation = operations_[next_];
        if(wave.observer != nullptr) wave.observer->delivers(wave, operation);
        for(size_t r = 0; r < operation.registers; ++r)
        {
            const PendingRegister& from = registers_[operation.first_register + r];
            if(from.scalar)
                wave.scalar[from.number] = from.value.lane[0];
            else if(from.bits == ~0U)
                merge(wave.vector[from.number], from.value, from.lanes);
            else
                for(int lane = 0; lane < lane_count; ++lane)
                    if((from.lanes >> lane & 1) != 0)
                    {
                        uint32_t& to = wave.vector[from.number].lane[lane];
                        to           = (to & ~from.bits) | (from.value.lane[lane] & from.bits);
                    }
        }
        ++next_;
    }
}

void PendingQueue::clear()
{
    operations_.clear();
    next_           = 0;
    used_registers_ = 0;
}

} // namespace ckprof::emulator
