// SPDX-License-Identifier: MIT
// Memory and copies. Everything that was started before has ended: the device does one thing after
// the other, when it is asked to.
#include <cstdint>
#include <cstring>

#include "runtime/api.hpp"
#include "runtime/device.hpp"

using namespace ckprof::emulator;

namespace {

hipError_t outside(const char* what)
{ return remember(hipErrorInvalidValue, std::string(what) + " is not within an allocation"); }

hipError_t allocate(void** memory, size_t bytes, bool host_writes)
{
    if(memory == nullptr) return remember(hipErrorInvalidValue);
    *memory = nullptr;
    if(bytes == 0) return hipSuccess;
    *memory = device().allocate(bytes, host_writes);
    return *memory != nullptr ? hipSuccess : remember(hipErrorOutOfMemory);
}

hipError_t copy(void* to, const void* from, size_t bytes, hipMemcpyKind kind)
{
    if(bytes == 0) return hipSuccess;
    const bool to_device = device().holds(to, 1), from_device = device().holds(from, 1);
    const bool right = kind == hipMemcpyDefault ||
                       (kind == hipMemcpyHostToHost && !to_device && !from_device) ||
                       (kind == hipMemcpyHostToDevice && to_device && !from_device) ||
                       (kind == hipMemcpyDeviceToHost && !to_device && from_device) ||
                       (kind == hipMemcpyDeviceToDevice && to_device && from_device);
    if(!right)
        return remember(kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault
                            ? hipErrorInvalidValue
                            : hipErrorInvalidMemcpyDirection,
                        "a copy to or from memory of the other side");
    if(to_device && !device().holds(to, bytes)) return outside("what a copy writes");
    if(from_device && !device().holds(from, bytes)) return outside("what a copy reads");
    std::memmove(to, from, bytes);
    if(to_device && from_device)
        device().copied(to, from, bytes);
    else if(to_device)
        device().written(to, bytes);
    return hipSuccess;
}

hipError_t set(void* memory, size_t pitch, int value, size_t width, size_t height)
{
    if(width == 0 || height == 0) return hipSuccess;
    if(pitch < width) return remember(hipErrorInvalidValue);
    if(!device().holds(memory, pitch * (height - 1) + width)) return outside("what is set");
    device().set(memory, pitch, value, width, height);
    return hipSuccess;
}

hipError_t copy_symbol(const void* symbol, size_t bytes, size_t offset, std::byte** address)
{
    const auto found = device().find_variable(symbol);
    if(!found) return remember(hipErrorInvalidSymbol);
    if(offset > found->bytes || bytes > found->bytes - offset)
        return outside("a part of a variable");
    *address = reinterpret_cast<std::byte*>(found->address) + offset;
    return hipSuccess;
}

} // namespace

hipError_t hipMalloc(void** memory, size_t bytes)
{
    CKPROF_ENTER();
    return allocate(memory, bytes, false);
}

hipError_t hipFree(void* memory)
{
    CKPROF_ENTER();
    return memory == nullptr || device().free(memory) ? hipSuccess : remember(hipErrorInvalidValue);
}

// Memory of the host that the device could reach: any is.
hipError_t hipHostMalloc(void** memory, size_t bytes, unsigned)
{
    CKPROF_ENTER();
    return allocate(memory, bytes, true);
}

hipError_t hipHostFree(void* memory) { return hipFree(memory); }

hipError_t hipMemGetInfo(size_t* free, size_t* total)
{
    CKPROF_ENTER();
    *total = device().memory_bytes();
    *free  = *total - device().memory_used();
    return hipSuccess;
}

hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind)
{
    CKPROF_ENTER();
    return copy(to, from, bytes, kind);
}

hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t)
{
    CKPROF_ENTER();
    return copy(to, from, bytes, kind);
}

hipError_t
hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t)
{
    CKPROF_ENTER();
    return copy(to, from, bytes, kind);
}

hipError_t hipMemset(void* memory, int value, size_t bytes)
{
    CKPROF_ENTER();
    return set(memory, bytes, value, bytes, 1);
}

hipError_t hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t)
{
    CKPROF_ENTER();
    return set(memory, bytes, value, bytes, 1);
}

hipError_t hipMemset2D(void* memory, size_t pitch, int value, size_t width, size_t height)
{
    CKPROF_ENTER();
    return set(memory, pitch, value, width, height);
}

hipError_t
hipMemset2DAsync(void* memory, size_t pitch, int value, size_t width, size_t height, hipStream_t)
{
    CKPROF_ENTER();
    return set(memory, pitch, value, width, height);
}

hipError_t hipGetSymbolAddress(void** address, const void* symbol)
{
    CKPROF_ENTER();
    std::byte* found       = nullptr;
    const hipError_t error = copy_symbol(symbol, 0, 0, &found);
    *address               = found;
    return error;
}

hipError_t hipGetSymbolSize(size_t* bytes, const void* symbol)
{
    CKPROF_ENTER();
    const auto found = device().find_variable(symbol);
    if(!found) return remember(hipErrorInvalidSymbol);
    *bytes = found->bytes;
    return hipSuccess;
}

hipError_t hipMemcpyToSymbol(
    const void* symbol, const void* from, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    CKPROF_ENTER();
    std::byte* to = nullptr;
    if(const hipError_t error = copy_symbol(symbol, bytes, offset, &to); error != hipSuccess)
        return error;
    return copy(to, from, bytes, kind);
}

hipError_t
hipMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    CKPROF_ENTER();
    std::byte* from = nullptr;
    if(const hipError_t error = copy_symbol(symbol, bytes, offset, &from); error != hipSuccess)
        return error;
    return copy(to, from, bytes, kind);
}
