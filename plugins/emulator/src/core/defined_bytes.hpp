// SPDX-License-Identifier: MIT
// Which bytes of an allocation have been written since it was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ckprof::emulator {

// A bit per byte. Pages of bits that nobody has set take no memory of the host. Threads may read
// and set bits at the same time; who needs an order between them brings it along, as for the bytes
// themselves.
class DefinedBytes
{
public:
    // None of them. Throws std::bad_alloc.
    DefinedBytes(uint64_t begin, uint64_t bytes);

    uint64_t begin() const { return begin_; }
    bool contains(uint64_t address) const { return address - begin_ < bytes_; }

    // Addresses outside of the allocation are left alone, and count as defined.
    void define(uint64_t address, uint64_t bytes);
    bool defined(uint64_t address, uint64_t bytes) const;
    // What is defined of the other bytes is of these, and nothing else is; ranges may overlap.
    void copy(uint64_t address, const DefinedBytes& from, uint64_t other, uint64_t bytes);

private:
    struct Release
    { void operator()(uint64_t* words) const; };

    uint64_t begin_, bytes_;
    std::unique_ptr<uint64_t[], Release> words_;
};

} // namespace ckprof::emulator
