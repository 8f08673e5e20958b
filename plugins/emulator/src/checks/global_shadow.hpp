// SPDX-License-Identifier: MIT
// Who has touched which bytes of global memory during a launch.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ckprof::emulator {

// A wave between two of its barriers.
struct Actor
{
    uint32_t group  = 0; // linear number of the workgroup
    uint16_t wave   = 0;
    uint16_t phase  = 0; // barriers that the workgroup has passed
    int32_t address = 0; // of the instruction, from the kernel on
};

// Thread-safe.
class GlobalShadow
{
public:
    // Notes an access and says what it races with: empty, or e.g. "written by workgroup 3".
    std::string note(uint64_t address, unsigned bytes, const Actor& actor, bool write, bool atomic);

private:
    struct Byte
    {
        Actor writer, reader;
        bool written = false, atomically = false, read = false, many_readers = false;
    };
    static constexpr uint64_t page_bytes = 1024;
    struct Page
    {
        std::mutex mutex;
        std::array<Byte, page_bytes> bytes;
    };

    Page& page(uint64_t number);
    bool ordered(const Actor& earlier, const Actor& later) const;
    void acquire(const Actor& from, const Actor& by);

    std::mutex pages_mutex_;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
    mutable std::mutex order_mutex_;
    // workgroups whose earlier writes a workgroup may read: it has seen an atomic operation of
    // theirs
    std::unordered_map<uint32_t, std::unordered_set<uint32_t>> acquired_;
};

} // namespace ckprof::emulator
