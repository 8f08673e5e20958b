// SPDX-License-Identifier: MIT
// Memory for tensors that are larger than any machine's, of which little is touched.
#pragma once

#include <cstdint>
#include <sys/mman.h>

#include "check.hpp"

namespace test {

// Zeros, of which only what is touched takes memory.
template <typename T>
class reserved
{
public:
    explicit reserved(std::int64_t count)
        : bytes_(static_cast<std::size_t>(count) * sizeof(T)),
          memory_(mmap(nullptr,
                       bytes_,
                       PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1,
                       0))
    { CHECK(memory_ != MAP_FAILED); }
    ~reserved() { munmap(memory_, bytes_); }
    reserved(const reserved&)            = delete;
    reserved& operator=(const reserved&) = delete;

    T* data() const { return static_cast<T*>(memory_); }
    T& operator[](std::int64_t at) const { return data()[at]; }

private:
    std::size_t bytes_;
    void* memory_;
};

// -1, 0 and 1 without a pattern that sums cancel.
inline float value(std::int64_t at) { return static_cast<float>((at * 2654435761 >> 7) % 3 - 1); }

} // namespace test
