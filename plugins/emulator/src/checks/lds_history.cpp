// SPDX-License-Identifier: MIT
#include "checks/lds_history.hpp"

#include <algorithm>
#include <bit>

#include "core/workgroup.hpp"

namespace ckprof::emulator {

uint32_t younger_operations(const Wave& wave, uint32_t sequence)
{
    const PendingQueue& queue = wave.vector_memory;
    const auto& operations    = queue.operations();
    return static_cast<uint32_t>(
        std::count_if(operations.begin() + static_cast<std::ptrdiff_t>(queue.next()),
                      operations.end(),
                      [&](const PendingOperation& one) { return one.sequence > sequence; }));
}

void LdsHistory::begin(const Workgroup& group)
{
    ++phase_; // nothing has to be cleared between two workgroups that use the same storage
    if(bytes_.size() < group.lds.size()) bytes_.resize(group.lds.size());
    waves_.resize(std::max(waves_.size(), group.waves.size()));
    for(OfWave& wave : waves_) wave = {};
    loads_.clear();
}

void LdsHistory::access(Wave& wave,
                        const Instruction& instruction,
                        const MemoryAccess& access,
                        const Report& report)
{
    for(int lane = 0; lane < lane_count; ++lane)
    {
        if((access.lanes >> lane & 1) == 0) continue;
        const Outstanding operation{
            &instruction, access.address[lane], access.bytes, access.access, 0};
        note(wave, operation, report);
        waves_[wave.number].local.push_back(operation);
    }
}

void LdsHistory::load(Wave& wave, const Instruction& instruction, const Report& report)
{
    const PendingOperation& operation = wave.vector_memory.operations().back();
    LdsLoad& load                     = loads_.emplace_back();
    load.address                      = instruction.address;
    load.sequence                     = operation.sequence;
    load.wave                         = static_cast<uint16_t>(wave.number);
    const auto number                 = static_cast<uint32_t>(loads_.size());
    auto& outstanding                 = waves_[wave.number].from_global;
    // all registers of a lane lie side by side
    const PendingRegister& first = wave.vector_memory.at(operation, 0);
    for(int lane = 0; lane < lane_count; ++lane)
    {
        if((first.lanes >> lane & 1) == 0) continue;
        const uint64_t begin =
            first.lds_offset + uint64_t{first.lds_step} * static_cast<unsigned>(lane);
        Outstanding* last = outstanding.empty() ? nullptr : &outstanding.back();
        if(last != nullptr && last->load == number && last->address + last->bytes == begin)
            last->bytes += first.lds_step;
        else
            outstanding.push_back({&instruction, begin, first.lds_step, Access::write, number});
    }
    for(const Outstanding& one : outstanding)
        if(one.load == number) note(wave, one, report);
}

void LdsHistory::deliver(const Wave& wave, const PendingOperation& operation)
{
    OfWave& of_wave = waves_[wave.number];
    if(operation.instruction->to_lds)
    {
        // a load may have no lanes, and no entry
        while(!of_wave.from_global.empty() &&
              loads_[of_wave.from_global.front().load - 1].sequence <= operation.sequence)
        {
            loads_[of_wave.from_global.front().load - 1].outstanding = false;
            of_wave.from_global.pop_front();
        }
        return;
    }
    auto& list    = of_wave.local;
    const auto of = [&](const Outstanding& o) { return o.instruction == operation.instruction; };
    // operations are done in order: the first entries are this one's
    const auto end = std::find_if_not(list.begin(), list.end(), of);
    if(end == list.begin())
        std::erase_if(list, of);
    else
        list.erase(list.begin(), end);
}

void LdsHistory::arrive(const Wave& wave, const Instruction& barrier)
{ waves_[wave.number].barrier = barrier.address; }

void LdsHistory::pass(Workgroup& group, const Report& report)
{
    ++phase_;
    // what a wave did not wait for can still happen after the barrier
    for(Wave& wave : group.waves)
    {
        const OfWave& of_wave = waves_[wave.number];
        for(const Outstanding& one : of_wave.local) note(wave, one, report);
        for(const Outstanding& one : of_wave.from_global)
        {
            LdsLoad& load = loads_[one.load - 1];
            load.crossed  = true;
            load.barrier  = of_wave.barrier;
            load.younger  = younger_operations(wave, load.sequence);
            note(wave, one, report);
        }
    }
}

void LdsHistory::note(Wave& wave, const Outstanding& operation, const Report& report)
{
    const bool write  = operation.access != Access::read;
    const bool atomic = operation.access == Access::atomic;
    const uint32_t me = 1U << wave.number % 32;
    const auto conflict =
        [&](uint64_t at, bool other_wrote, unsigned other, uint32_t address, const LdsLoad* load) {
            report(wave, *operation.instruction, {at, write, other_wrote, other, address, load});
        };
    const uint64_t end = std::min<uint64_t>(operation.address + operation.bytes, bytes_.size());
    for(uint64_t at = operation.address; at < end; ++at)
    {
        Byte& byte = bytes_[at];
        // of an earlier workgroup it is a number that means nothing any more
        if(byte.write_phase == phase_)
        {
            const LdsLoad* load = byte.load == 0 ? nullptr : &loads_[byte.load - 1];
            const bool mine     = byte.writer == wave.number;
            // loads of a wave arrive in their order
            const bool ordered = mine ? load == nullptr || !load->outstanding || operation.load != 0
                                      : atomic && byte.atomic;
            if(!ordered) conflict(at, true, byte.writer, byte.write_address, load);
        }
        if(write && byte.read_phase == phase_ && (byte.readers & ~me) != 0)
            conflict(at,
                     false,
                     static_cast<unsigned>(std::countr_zero(byte.readers & ~me)),
                     byte.read_address,
                     nullptr);
        if(write)
        {
            byte.write_phase   = phase_;
            byte.writer        = static_cast<uint16_t>(wave.number);
            byte.write_address = operation.instruction->address;
            byte.atomic        = atomic;
            byte.load          = operation.load;
        }
        else
        {
            byte.readers      = (byte.read_phase == phase_ ? byte.readers : 0) | me;
            byte.read_phase   = phase_;
            byte.read_address = operation.instruction->address;
        }
    }
}

} // namespace ckprof::emulator
