// SPDX-License-Identifier: MIT
// What a GPU offers to the worker process: memory, copies, caches, the choice of the device.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include <hip/hip_runtime.h>

#include "ckprof_target.h"

namespace {

void copy_text(const char* text, char* buffer, size_t size) noexcept
{
    if(buffer == nullptr || size == 0) return;
    const size_t length = strnlen(text, size - 1);
    std::memcpy(buffer, text, length);
    buffer[length] = '\0';
}

// Of the last call that failed.
hipError_t failure = hipSuccess;

// Remembers an error, which is reported from here on: a launch that comes later must not find it.
hipError_t noted(hipError_t error) noexcept
{
    if(error == hipSuccess) return error;
    failure = error;
    (void)hipGetLastError();
    return error;
}

ckprof_status reject(const std::string& why, char* reason, size_t reason_size) noexcept
{
    copy_text(why.c_str(), reason, reason_size);
    return CKPROF_REJECTED;
}

// A name is followed by its features: gfx942:sramecc+:xnack-. The kernels' own features are the
// loader's business.
bool same_architecture(const char* device, const char* wanted) noexcept
{
    const size_t length = std::strcspn(wanted, ":");
    return std::strcspn(device, ":") == length && std::strncmp(device, wanted, length) == 0;
}

ckprof_status
select_device(const char* arch, int32_t index, char* reason, size_t reason_size) noexcept
{
    try
    {
        int count                = 0;
        const hipError_t counted = noted(hipGetDeviceCount(&count));
        if(counted != hipSuccess || count == 0)
            return reject(std::string("no AMD GPU was found") +
                              (counted == hipSuccess ? "" : ": ") +
                              (counted == hipSuccess ? "" : hipGetErrorString(counted)),
                          reason,
                          reason_size);
        if(index < 0 || index >= count)
            return reject("there is no device " + std::to_string(index) + ", the last one is " +
                              std::to_string(count - 1),
                          reason,
                          reason_size);
        hipDeviceProp_t properties{};
        if(const hipError_t error = hipGetDeviceProperties(&properties, index); error != hipSuccess)
            return reject(hipGetErrorString(error), reason, reason_size);
        if(arch != nullptr && *arch != '\0' && !same_architecture(properties.gcnArchName, arch))
            return reject("device " + std::to_string(index) + " is " + properties.gcnArchName +
                              ", the kernels were built for " + arch,
                          reason,
                          reason_size);
        if(const hipError_t error = hipSetDevice(index); error != hipSuccess)
            return reject(hipGetErrorString(error), reason, reason_size);
        return CKPROF_OK;
    }
    catch(...)
    {
        copy_text("out of memory", reason, reason_size);
        return CKPROF_FAILED;
    }
}

void set_cpu_threads(int32_t) noexcept {}

void describe_device(char* text, size_t text_size) noexcept
{
    int device = 0;
    hipDeviceProp_t properties{};
    if(hipGetDevice(&device) != hipSuccess ||
       hipGetDeviceProperties(&properties, device) != hipSuccess)
        return copy_text("unknown GPU", text, text_size);
    if(text != nullptr && text_size != 0)
        std::snprintf(text,
                      text_size,
                      "%s (%s), %d compute units at %d MHz, %zu MiB",
                      properties.name,
                      properties.gcnArchName,
                      properties.multiProcessorCount,
                      properties.clockRate / 1000,
                      properties.totalGlobalMem >> 20);
}

void last_error(char* text, size_t text_size) noexcept
{ copy_text(failure == hipErrorOutOfMemory ? "" : hipGetErrorString(failure), text, text_size); }

void* allocate(size_t bytes) noexcept
{
    void* memory = nullptr;
    return noted(hipMalloc(&memory, bytes == 0 ? 1 : bytes)) == hipSuccess ? memory : nullptr;
}

void release(void* memory) noexcept
{
    if(memory != nullptr) (void)noted(hipFree(memory));
}

ckprof_status copied(hipError_t error) noexcept
{ return noted(error) == hipSuccess ? CKPROF_OK : CKPROF_FAILED; }

ckprof_status copy_to_device(void* device, const void* host, size_t bytes) noexcept
{ return bytes == 0 ? CKPROF_OK : copied(hipMemcpy(device, host, bytes, hipMemcpyHostToDevice)); }

ckprof_status copy_to_host(void* host, const void* device, size_t bytes) noexcept
{ return bytes == 0 ? CKPROF_OK : copied(hipMemcpy(host, device, bytes, hipMemcpyDeviceToHost)); }

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
                return failure == hipErrorOutOfMemory ? CKPROF_REJECTED : CKPROF_FAILED;
            held = bytes;
        }
    }
    if(held == 0) return CKPROF_OK;
    pattern ^= 1;
    return copied(hipMemsetAsync(memory, pattern, held, nullptr));
}

uint64_t available_bytes() noexcept
{
    size_t free = 0, total = 0;
    return noted(hipMemGetInfo(&free, &total)) == hipSuccess ? free : 0;
}

constexpr ckprof_target table = {"hip",
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
