// SPDX-License-Identifier: MIT
// One launch of a kernel: its arguments and packets in memory, and the state that its waves begin
// with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/workgroup.hpp"
#include "runtime/code_object.hpp"

namespace ckprof::emulator {

struct LaunchShape
{
    std::array<uint32_t, 3> grid{1, 1, 1};  // in workgroups
    std::array<uint32_t, 3> block{1, 1, 1}; // in work-items
    uint32_t dynamic_lds_bytes = 0;
};

class Dispatch
{
public:
    // `arguments` point to the program's values, in the order of the kernel's. Registers, LDS and
    // scratch that nothing sets hold `undefined`.
    Dispatch(const Kernel& kernel,
             const LaunchShape& shape,
             void** arguments,
             Architecture architecture,
             DeviceMemory& memory,
             uint32_t undefined);
    ~Dispatch();
    Dispatch(const Dispatch&)            = delete;
    Dispatch& operator=(const Dispatch&) = delete;

    uint64_t workgroups() const
    { return uint64_t{shape_.grid[0]} * shape_.grid[1] * shape_.grid[2]; }

    // Puts a workgroup to its begin; storage that it has from another one is used again.
    void prepare(Workgroup& group, uint64_t index, const Launch& launch) const;

private:
    void set_scalars(Wave& wave, const Workgroup& group) const;
    void set_lanes(Wave& wave) const;
    void write_arguments(void** arguments);
    void write_packet();

    // What the device reads, in one allocation.
    struct Block;
    const Kernel& kernel_;
    LaunchShape shape_;
    Architecture architecture_;
    uint32_t undefined_;
    uint32_t threads_;
    std::unique_ptr<Block> block_;
};

} // namespace ckprof::emulator
