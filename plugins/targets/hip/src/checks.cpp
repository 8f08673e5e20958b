// SPDX-License-Identifier: MIT
// Operands, references and comparisons on an AMD GPU.
#include <hip/hip_runtime.h>

#include "ckprof_device_checks.hpp"

namespace {

struct api
{
    using error_type                          = hipError_t;
    static constexpr error_type success       = hipSuccess;
    static constexpr error_type out_of_memory = hipErrorOutOfMemory;

    static const char* text(error_type error) { return hipGetErrorString(error); }
    static error_type take_error() { return hipGetLastError(); }
    static error_type allocate(void** memory, size_t bytes) { return hipMalloc(memory, bytes); }
    static error_type release(void* memory) { return hipFree(memory); }
    static error_type memory_info(size_t* free, size_t* total)
    { return hipMemGetInfo(free, total); }
    static error_type copy_to_device(void* device, const void* host, size_t bytes)
    { return hipMemcpy(device, host, bytes, hipMemcpyHostToDevice); }
    static error_type copy_to_host(void* host, const void* device, size_t bytes)
    { return hipMemcpy(host, device, bytes, hipMemcpyDeviceToHost); }
    static error_type fill_async(void* memory, int value, size_t bytes)
    { return hipMemsetAsync(memory, value, bytes, nullptr); }
    static error_type wait() { return hipDeviceSynchronize(); }
};

constexpr ckprof_checks table = ckprof::checks::table<api>();

} // namespace

extern "C" const ckprof_checks* ckprof_get_checks(void) { return &table; }
