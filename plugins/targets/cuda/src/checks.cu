// SPDX-License-Identifier: MIT
// Operands, references and comparisons on an NVIDIA GPU.
#include <cuda_runtime.h>

#include "ckprof_device_checks.hpp"

namespace {

struct api
{
    using error_type                          = cudaError_t;
    static constexpr error_type success       = cudaSuccess;
    static constexpr error_type out_of_memory = cudaErrorMemoryAllocation;

    static const char* text(error_type error) { return cudaGetErrorString(error); }
    static error_type take_error() { return cudaGetLastError(); }
    static error_type allocate(void** memory, size_t bytes) { return cudaMalloc(memory, bytes); }
    static error_type release(void* memory) { return cudaFree(memory); }
    static error_type memory_info(size_t* free, size_t* total)
    { return cudaMemGetInfo(free, total); }
    static error_type copy_to_device(void* device, const void* host, size_t bytes)
    { return cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice); }
    static error_type copy_to_host(void* host, const void* device, size_t bytes)
    { return cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost); }
    static error_type fill_async(void* memory, int value, size_t bytes)
    { return cudaMemsetAsync(memory, value, bytes, nullptr); }
    static error_type wait() { return cudaDeviceSynchronize(); }
};

constexpr ckprof_checks table = ckprof::checks::table<api>();

} // namespace

extern "C" const ckprof_checks* ckprof_get_checks(void) { return &table; }
