// SPDX-License-Identifier: MIT
// Zeroing that a launcher asks for before its kernel, put off until the kernel is known: one that
// writes every element of that memory makes it unnecessary.
#pragma once

#include <cstddef>

#include <cuda_runtime.h>

namespace ck_tile::cuda_model {

// `height` rows of `width` bytes that start `pitch` bytes apart.
struct zeroed_rows
{
    void* memory;
    std::size_t pitch, width, height;
};

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
        rows_       = {}; // of a launch that failed
    }
    void end() { collecting_ = false; }

    // Takes the request over if one is being collected and none is pending.
    bool take(const zeroed_rows& rows, int value)
    {
        if(!collecting_ || rows_.memory != nullptr || value != 0) { return false; }
        rows_ = rows;
        return true;
    }

    // To be called before a kernel is started, which writes all of `written` or nothing known.
    cudaError_t settle(cudaStream_t stream, const void* written)
    {
        const zeroed_rows rows = rows_;
        rows_                  = {};
        if(rows.memory == nullptr || rows.memory == written) { return cudaSuccess; }
        // A single row may be longer than a pitch can say.
        return rows.height == 1
                   ? cudaMemsetAsync(rows.memory, 0, rows.width, stream)
                   : cudaMemset2DAsync(rows.memory, rows.pitch, 0, rows.width, rows.height, stream);
    }

private:
    bool collecting_ = false;
    zeroed_rows rows_{};
};

} // namespace ck_tile::cuda_model
