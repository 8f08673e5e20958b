// SPDX-License-Identifier: MIT
// What watches waves as they execute: checkers and counters. Without one, nothing is called.
#pragma once

#include <cstdint>

#include "core/lanes.hpp"

namespace ckprof::emulator {

struct Wave;
struct Workgroup;
struct Instruction;
struct PendingOperation;

enum class Access : uint8_t
{
    read,
    write,
    atomic,
};

enum class Space : uint8_t
{
    global,
    lds,
    scratch,
};

// `bytes` at an address of each lane of the mask. Lanes outside of a buffer are not among them:
// that is how programs use buffers. Those past the end of LDS are, although they read 0 and write
// nothing. Addresses of LDS are offsets within the workgroup's, those of scratch within the wave's.
struct MemoryAccess
{
    Space space;
    Access access;
    LaneMask lanes;
    const uint64_t* address; // 64 of them
    unsigned bytes;
    // register that the element, of which these are bytes, comes from or goes to: as in
    // Operand::number, a scalar one in scalar instructions; -1 where there is none
    int first_register = -1;
    // of the bytes of the element
    unsigned first_byte = 0;
};

class Observer
{
public:
    virtual ~Observer() = default;
    virtual void workgroup_begins(Workgroup&) {}
    virtual void workgroup_ends(Workgroup&) {}
    virtual void before(Wave&, const Instruction&) {}
    virtual void after(Wave&, const Instruction&) {}
    // Before the bytes are read or written.
    virtual void accesses(Wave&, const Instruction&, const MemoryAccess&) {}
    // A wait (or the end of a full queue) covers the operation; its registers are written next.
    virtual void delivers(Wave&, const PendingOperation&) {}
    virtual void arrives_at_barrier(Wave&, const Instruction&) {}
    // All waves have arrived.
    virtual void passes_barrier(Workgroup&) {}
};

} // namespace ckprof::emulator
