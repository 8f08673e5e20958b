// SPDX-License-Identifier: MIT
#include "core/device_memory.hpp"

#include <iterator>
#include <mutex>
#include <utility>

namespace ckprof::emulator {

void DeviceMemory::add(uint64_t begin, uint64_t bytes)
{
    const std::unique_lock lock(mutex_);
    ends_[begin] = begin + bytes;
}

void DeviceMemory::add_undefined(uint64_t begin, uint64_t bytes)
{
    auto defined = std::make_unique<DefinedBytes>(begin, bytes);
    add(begin, bytes);
    const std::unique_lock lock(mutex_);
    defined_[begin] = std::move(defined);
}

DefinedBytes* DeviceMemory::definedness(uint64_t address) const
{
    const std::shared_lock lock(mutex_);
    auto next = defined_.upper_bound(address);
    if(next == defined_.begin()) return nullptr;
    DefinedBytes& found = *std::prev(next)->second;
    return found.contains(address) ? &found : nullptr;
}

bool DeviceMemory::remove(uint64_t begin)
{
    const std::unique_lock lock(mutex_);
    defined_.erase(begin);
    return ends_.erase(begin) != 0;
}

void DeviceMemory::set_page_bytes(uint64_t bytes)
{
    const std::unique_lock lock(mutex_);
    page_bytes_ = bytes;
}

std::optional<Allocation> DeviceMemory::find(uint64_t address, uint64_t bytes) const
{
    const std::shared_lock lock(mutex_);
    auto next = ends_.upper_bound(address);
    if(next == ends_.begin()) return std::nullopt;
    const auto [begin, end] = *--next;
    const uint64_t pages    = page_bytes_ == 0 ? 1 : page_bytes_;
    const Allocation found{begin, (end + pages - 1) / pages * pages};
    return found.contains(address, bytes) ? std::optional(found) : std::nullopt;
}

std::optional<Allocation> DeviceMemory::exact(uint64_t address) const
{
    const std::shared_lock lock(mutex_);
    auto next = ends_.upper_bound(address);
    if(next == ends_.begin()) return std::nullopt;
    const auto [begin, end] = *--next;
    return address < end ? std::optional(Allocation{begin, end}) : std::nullopt;
}

} // namespace ckprof::emulator
