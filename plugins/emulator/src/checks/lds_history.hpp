// SPDX-License-Identifier: MIT
// Who touched which bytes of a workgroup's LDS, and what barriers and waits order.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "core/observer.hpp"

namespace ckprof::emulator {

// A load of global memory to LDS that a wave has issued.
struct LdsLoad
{
    uint32_t address  = 0; // of the instruction in its code
    uint32_t sequence = 0; // memory operations that the wave issued before
    uint16_t wave     = 0;
    bool outstanding  = true;  // no wait of its wave covers it
    bool crossed      = false; // it was outstanding at a barrier: the last such one is
    uint32_t barrier  = 0;     // this instruction of its wave, by its address, at which so many
    uint32_t younger  = 0;     // vector memory operations had been issued after it
};

// Two accesses to a byte that nothing orders, one of them a write.
struct Conflict
{
    uint64_t byte          = 0;
    bool writes            = false; // the later one in the order of execution
    bool other_wrote       = false;
    unsigned other_wave    = 0;
    uint32_t other_address = 0;       // of its instruction in its code
    const LdsLoad* load    = nullptr; // where the earlier one is one
};

// A barrier counts arrivals: what lies between the n-th and the next of each wave is a phase of the
// workgroup, wherever in the code the waves are. Accesses of two waves in one phase are not
// ordered; an access that a wave has not waited for happens in each phase until it has.
class LdsHistory
{
public:
    using Report = std::function<void(Wave&, const Instruction&, const Conflict&)>;

    void begin(const Workgroup& group);
    void access(Wave& wave,
                const Instruction& instruction,
                const MemoryAccess& access,
                const Report& report);
    // The wave's last vector memory operation is a load to LDS.
    void load(Wave& wave, const Instruction& instruction, const Report& report);
    // The wave knows now that the operation is done.
    void deliver(const Wave& wave, const PendingOperation& operation);
    void arrive(const Wave& wave, const Instruction& barrier);
    void pass(Workgroup& group, const Report& report);

private:
    struct Byte
    {
        uint32_t write_phase = 0, read_phase = 0;
        uint32_t write_address = 0, read_address = 0;
        uint32_t readers = 0; // a bit per wave
        uint32_t load    = 0; // 1 + index of the load that wrote it; 0: something else did
        uint16_t writer  = 0;
        bool atomic      = false;
    };
    // An operation that no wait has covered yet, or a part of one.
    struct Outstanding
    {
        const Instruction* instruction = nullptr;
        uint64_t address               = 0;
        unsigned bytes                 = 0;
        Access access                  = Access::read;
        uint32_t load                  = 0; // as in Byte
    };
    struct OfWave
    {
        std::vector<Outstanding> local;      // in the order of LDS
        std::deque<Outstanding> from_global; // loads
        uint32_t barrier = 0;
    };

    void note(Wave& wave, const Outstanding& operation, const Report& report);

    std::vector<Byte> bytes_;
    std::vector<OfWave> waves_;
    std::vector<LdsLoad> loads_;
    uint32_t phase_ = 0;
};

// Vector memory operations of the wave that were issued after the one with a number: what
// s_waitcnt vmcnt may leave out so that it still waits for that one.
uint32_t younger_operations(const Wave& wave, uint32_t sequence);

} // namespace ckprof::emulator
