// SPDX-License-Identifier: MIT
// Zeroing that a launcher asks for before its kernel, put off until the kernel is known: one that
// writes every element of that memory makes it unnecessary.
#pragma once

#include <cstddef>

#include <cuda_runtime.h>

namespace ck_tile::cuda_model {

class deferred_zeroing
{
public:
    // Launches happen on one thread at a time.
    static deferred_zeroing& of_thread()
    {
        static thread_local deferred_zeroing only;
        return only;
    }

    void begin()
    {
        collecting_ = true;
        memory_     = nullptr; // of a launch that failed
    }
    void end() { collecting_ = false; }

    // Takes the request over if one is being collected and none is pending.
    bool take(void* memory, int value, std::size_t bytes)
    {
        if(!collecting_ || memory_ != nullptr || value != 0) { return false; }
        memory_ = memory;
        bytes_  = bytes;
        return true;
    }

    // To be called before a kernel is started, which writes all of `written` or nothing known.
    cudaError_t settle(cudaStream_t stream, const void* written)
    {
        void* memory = memory_;
        memory_      = nullptr;
        return memory == nullptr || memory == written ? cudaSuccess
                                                      : cudaMemsetAsync(memory, 0, bytes_, stream);
    }

private:
    bool collecting_   = false;
    void* memory_      = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace ck_tile::cuda_model
