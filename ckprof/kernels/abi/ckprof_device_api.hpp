// SPDX-License-Identifier: MIT
//
// The calls of a GPU's runtime that ckprof makes, where they are CUDA's behind a prefix of the
// runtime's own. Include the runtime's header first, and define CKPROF_RUNTIME(name), which puts
// the prefix in front of a name.
#ifndef CKPROF_DEVICE_API_HPP
#define CKPROF_DEVICE_API_HPP

#include <cstddef>

namespace ckprof {

struct device_api
{
    using error_type                          = CKPROF_RUNTIME(Error_t);
    static constexpr error_type success       = CKPROF_RUNTIME(Success);
    static constexpr error_type out_of_memory = CKPROF_RUNTIME(ErrorMemoryAllocation);

    static const char* text(error_type error) { return CKPROF_RUNTIME(GetErrorString)(error); }
    static error_type take_error() { return CKPROF_RUNTIME(GetLastError)(); }
    static error_type count_devices(int* count) { return CKPROF_RUNTIME(GetDeviceCount)(count); }
    static error_type set_device(int index) { return CKPROF_RUNTIME(SetDevice)(index); }
    static error_type allocate(void** memory, size_t bytes)
    { return CKPROF_RUNTIME(Malloc)(memory, bytes); }
    static error_type release(void* memory) { return CKPROF_RUNTIME(Free)(memory); }
    static error_type memory_info(size_t* free, size_t* total)
    { return CKPROF_RUNTIME(MemGetInfo)(free, total); }
    static error_type copy_to_device(void* device, const void* host, size_t bytes)
    { return CKPROF_RUNTIME(Memcpy)(device, host, bytes, CKPROF_RUNTIME(MemcpyHostToDevice)); }
    static error_type copy_to_host(void* host, const void* device, size_t bytes)
    { return CKPROF_RUNTIME(Memcpy)(host, device, bytes, CKPROF_RUNTIME(MemcpyDeviceToHost)); }
    static error_type fill_async(void* memory, int value, size_t bytes)
    { return CKPROF_RUNTIME(MemsetAsync)(memory, value, bytes, nullptr); }
    static error_type wait() { return CKPROF_RUNTIME(DeviceSynchronize)(); }
};

} // namespace ckprof

#endif
