// SPDX-License-Identifier: MIT
// What an NVIDIA GPU offers to the worker process: memory, copies, caches, the choice of the
// device, and the AMD device whose conditions the kernels answer for.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include <cuda_runtime.h>

#include "ck_tile/host_model/device.hpp"
#include "ckprof_target.h"

// Compute capability that device code was compiled for, times ten.
#if !defined(CKPROF_CUDA_CAPABILITY)
#define CKPROF_CUDA_CAPABILITY 90
#endif

namespace {

void copy_text(const char* text, char* buffer, size_t size) noexcept
{
    if(buffer == nullptr || size == 0) return;
    const size_t length = std::min(std::strlen(text), size - 1);
    std::memcpy(buffer, text, length);
    buffer[length] = '\0';
}

ckprof_status reject(const std::string& why, char* reason, size_t reason_size) noexcept
{
    copy_text(why.c_str(), reason, reason_size);
    return CKPROF_REJECTED;
}

ckprof_status use_device(const std::string& arch, int index, char* reason, size_t reason_size)
{
    if(!ck_tile::host_model::set_device(arch))
        return reject("'" + arch + "' is not modelled; known are " +
                          ck_tile::host_model::device_names(),
                      reason,
                      reason_size);
    int count = 0;
    if(const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0)
        return reject(std::string("no NVIDIA GPU was found: ") + cudaGetErrorString(error),
                      reason,
                      reason_size);
    if(index < 0 || index >= count)
        return reject("there is no device " + std::to_string(index) + ", the last one is " +
                          std::to_string(count - 1),
                      reason,
                      reason_size);
    int major = 0, minor = 0;
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index);
    (void)cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index);
    if(major * 10 + minor != CKPROF_CUDA_CAPABILITY)
        return reject("device " + std::to_string(index) + " has compute capability " +
                          std::to_string(major) + "." + std::to_string(minor) +
                          ", the kernels were built for " +
                          std::to_string(CKPROF_CUDA_CAPABILITY / 10) + "." +
                          std::to_string(CKPROF_CUDA_CAPABILITY % 10),
                      reason,
                      reason_size);
    if(const cudaError_t error = cudaSetDevice(index); error != cudaSuccess)
        return reject(cudaGetErrorString(error), reason, reason_size);
    return CKPROF_OK;
}

ckprof_status
select_device(const char* arch, int32_t index, char* reason, size_t reason_size) noexcept
{
    try
    {
        return use_device(arch == nullptr ? "" : arch, index, reason, reason_size);
    }
    catch(const std::exception& error)
    {
        copy_text(error.what(), reason, reason_size);
        return CKPROF_FAILED;
    }
}

void set_cpu_threads(int32_t) noexcept {}

void describe_device(char* text, size_t text_size) noexcept
{
    int device = 0, driver = 0, runtime = 0;
    cudaDeviceProp properties{};
    if(cudaGetDevice(&device) != cudaSuccess ||
       cudaGetDeviceProperties(&properties, device) != cudaSuccess)
        return copy_text("unknown GPU", text, text_size);
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    const auto& model = ck_tile::host_model::current_device();
    if(text != nullptr && text_size != 0)
        std::snprintf(text,
                      text_size,
                      "%s (compute capability %d.%d), %d multiprocessors, %zu MiB, CUDA %d.%d on a "
                      "driver for %d.%d; support as on %s with %d compute units",
                      properties.name,
                      properties.major,
                      properties.minor,
                      properties.multiProcessorCount,
                      properties.totalGlobalMem >> 20,
                      runtime / 1000,
                      runtime % 1000 / 10,
                      driver / 1000,
                      driver % 1000 / 10,
                      model.name.c_str(),
                      model.compute_units);
}

// Of the last call that failed.
cudaError_t failure = cudaSuccess;

// Remembers an error, which is reported from here on: a launch that comes later must not find it.
cudaError_t noted(cudaError_t error) noexcept
{
    if(error == cudaSuccess) return error;
    failure = error;
    (void)cudaGetLastError();
    return error;
}

void last_error(char* text, size_t text_size) noexcept
{
    copy_text(
        failure == cudaErrorMemoryAllocation ? "" : cudaGetErrorString(failure), text, text_size);
}

void* allocate(size_t bytes) noexcept
{
    void* memory = nullptr;
    return noted(cudaMalloc(&memory, bytes == 0 ? 1 : bytes)) == cudaSuccess ? memory : nullptr;
}

void release(void* memory) noexcept
{
    if(memory != nullptr) (void)noted(cudaFree(memory));
}

ckprof_status copied(cudaError_t error) noexcept
{ return noted(error) == cudaSuccess ? CKPROF_OK : CKPROF_FAILED; }

ckprof_status copy_to_device(void* device, const void* host, size_t bytes) noexcept
{ return bytes == 0 ? CKPROF_OK : copied(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice)); }

ckprof_status copy_to_host(void* host, const void* device, size_t bytes) noexcept
{ return bytes == 0 ? CKPROF_OK : copied(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost)); }

// Writes all of a piece of memory of its own, which pushes everything else out of the caches. Does
// not wait: the launch that follows is prepared meanwhile and its latency is not measured.
ckprof_status flush_cache(size_t bytes) noexcept
{
    static void* memory = nullptr;
    static size_t held  = 0;
    static int pattern  = 0;
    if(bytes != held)
    {
        release(memory);
        memory = nullptr;
        held   = 0;
        if(bytes != 0)
        {
            memory = allocate(bytes);
            if(memory == nullptr)
                return failure == cudaErrorMemoryAllocation ? CKPROF_REJECTED : CKPROF_FAILED;
            held = bytes;
        }
    }
    if(held == 0) return CKPROF_OK;
    pattern ^= 1;
    return copied(cudaMemsetAsync(memory, pattern, held, nullptr));
}

uint64_t available_bytes() noexcept
{
    size_t free = 0, total = 0;
    return noted(cudaMemGetInfo(&free, &total)) == cudaSuccess ? free : 0;
}

constexpr ckprof_target table = {"cuda",
                                 select_device,
                                 set_cpu_threads,
                                 describe_device,
                                 allocate,
                                 release,
                                 copy_to_device,
                                 copy_to_host,
                                 flush_cache,
                                 available_bytes,
                                 last_error};

} // namespace

extern "C" const ckprof_target* ckprof_target_table(void) { return &table; }
