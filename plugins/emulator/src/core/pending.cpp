// SPDX-License-Identifier: MIT
#include "core/pending.hpp"

#include <cstring>

#include "core/wave.hpp"
#include "core/workgroup.hpp"

namespace ckprof::emulator {
namespace {

void write_lds(Wave& wave, const PendingRegister& from)
{
    std::vector<std::byte>& lds = wave.group->lds;
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const size_t offset = from.lds_offset + size_t{from.lds_step} * static_cast<size_t>(lane);
        if((from.lanes >> lane & 1) != 0 && offset + 4 <= lds.size())
            std::memcpy(lds.data() + offset, from.value.lane + lane, 4);
    }
}

void write_result(Wave& wave, const PendingRegister& from)
{
    switch(from.kind)
    {
    case PendingRegister::Kind::scalar: wave.scalar[from.number] = from.value.lane[0]; return;
    case PendingRegister::Kind::lds: write_lds(wave, from); return;
    case PendingRegister::Kind::vector: break;
    }
    VectorRegister& to = wave.vector[from.number];
    if(from.bits == ~0U)
    {
        merge(to, from.value, from.lanes);
        return;
    }
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const uint32_t bits = from.bits & (0U - static_cast<uint32_t>(from.lanes >> lane & 1));
        to.lane[lane]       = (to.lane[lane] & ~bits) | (from.value.lane[lane] & bits);
    }
}

} // namespace

PendingOperation&
PendingQueue::issue(const Instruction& instruction, size_t registers, uint32_t sequence)
{
    if(next_ == operations_.size() || next_ >= 64)
    {
        operations_.erase(operations_.begin(),
                          operations_.begin() + static_cast<std::ptrdiff_t>(next_));
        next_ = 0;
    }
    while(end_registers_ - begin_registers_ + registers > registers_.size()) grow();
    PendingOperation& operation = operations_.emplace_back();
    operation.instruction       = &instruction;
    operation.first_register    = end_registers_;
    operation.registers         = registers;
    operation.sequence          = sequence;
    end_registers_ += registers;
    return operation;
}

void PendingQueue::deliver_oldest(Wave& wave)
{
    const PendingOperation& operation = operations_[next_];
    if(wave.observer != nullptr) wave.observer->delivers(wave, operation);
    for(size_t r = 0; r < operation.registers; ++r) write_result(wave, at(operation, r));
    begin_registers_ += operation.registers;
    ++next_;
}

void PendingQueue::grow()
{
    std::vector<PendingRegister> longer(registers_.empty() ? 16 : registers_.size() * 2);
    for(size_t r = begin_registers_; r < end_registers_; ++r)
        longer[r & (longer.size() - 1)] = registers_[r & (registers_.size() - 1)];
    registers_ = std::move(longer);
}

} // namespace ckprof::emulator
