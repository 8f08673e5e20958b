// SPDX-License-Identifier: MIT
// Which bytes a device may touch: device addresses are addresses of this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>

#include "core/defined_bytes.hpp"

namespace ckprof::emulator {

struct Allocation
{
    uint64_t begin = 1, end = 0; // empty
    bool contains(uint64_t address, uint64_t bytes) const
    { return address >= begin && address <= end && bytes <= end - address; }
};

// Allocations of a device, also of code and arguments. Thread-safe.
class DeviceMemory
{
public:
    // `slack` more bytes can be touched without a fault: memory is mapped by pages. 0 to find
    // accesses past the end by the byte.
    explicit DeviceMemory(uint64_t page_bytes = 4096) : page_bytes_(page_bytes) {}

    void add(uint64_t begin, uint64_t bytes);
    // The same, of which it is noted what has been written.
    void add_undefined(uint64_t begin, uint64_t bytes);
    bool remove(uint64_t begin);
    void set_page_bytes(uint64_t bytes);

    // The allocation, with what its last page holds after it, that holds all bytes.
    std::optional<Allocation> find(uint64_t address, uint64_t bytes) const;
    // Begin and end as they were asked for.
    std::optional<Allocation> exact(uint64_t address) const;
    // Of the allocation that holds the address; null where nothing is noted of it. Valid until it
    // is removed.
    DefinedBytes* definedness(uint64_t address) const;

private:
    mutable std::shared_mutex mutex_;
    std::map<uint64_t, uint64_t> ends_;
    std::map<uint64_t, std::unique_ptr<DefinedBytes>> defined_; // by begin
    uint64_t page_bytes_;
};

} // namespace ckprof::emulator
