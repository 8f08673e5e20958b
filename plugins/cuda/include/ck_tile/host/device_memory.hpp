// SPDX-License-Identifier: MIT
// Owner of a buffer in the memory of the GPU.
#pragma once

#if defined(__CUDACC__)

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ck_tile/core/utility/hip_check_error.hpp"

namespace ck_tile {

class DeviceMem
{
public:
    DeviceMem() = default;
    explicit DeviceMem(std::size_t bytes) { Realloc(bytes); }

    DeviceMem(const DeviceMem&)            = delete;
    DeviceMem& operator=(const DeviceMem&) = delete;
    DeviceMem(DeviceMem&& other) noexcept
        : buffer_(std::exchange(other.buffer_, nullptr)),
          size_(std::exchange(other.size_, 0))
    {}
    DeviceMem& operator=(DeviceMem&& other) noexcept
    {
        std::swap(buffer_, other.buffer_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~DeviceMem() { release(); }

    // Contents are lost. A size of 0 gives a null pointer.
    void Realloc(std::size_t bytes)
    {
        release();
        if(bytes != 0) { hip_check_error(cudaMalloc(&buffer_, bytes)); }
        size_ = bytes;
    }

    void* GetDeviceBuffer() const { return buffer_; }
    std::size_t GetBufferSize() const { return size_; }

    void ToDevice(const void* source) const { ToDevice(source, size_); }
    void ToDevice(const void* source, std::size_t bytes) const
    {
        check(bytes);
        if(bytes != 0) { hip_check_error(cudaMemcpy(buffer_, source, bytes, cudaMemcpyDefault)); }
    }
    void FromDevice(void* destination) const { FromDevice(destination, size_); }
    void FromDevice(void* destination, std::size_t bytes) const
    {
        check(bytes);
        if(bytes != 0)
        {
            hip_check_error(cudaMemcpy(destination, buffer_, bytes, cudaMemcpyDefault));
        }
    }

    void SetZero() const
    {
        if(size_ != 0) { hip_check_error(cudaMemset(buffer_, 0, size_)); }
    }

    template <typename T>
    void SetValue(T value) const
    {
        if(size_ % sizeof(T) != 0)
        {
            throw std::runtime_error("DeviceMem: the size is not a multiple of the value's size");
        }
        const std::vector<T> values(size_ / sizeof(T), value);
        ToDevice(values.data());
    }

private:
    void release() noexcept
    {
        if(buffer_ != nullptr) { (void)cudaFree(buffer_); }
        buffer_ = nullptr;
        size_   = 0;
    }

    void check(std::size_t bytes) const
    {
        if(bytes > size_) { throw std::runtime_error("DeviceMem: copy exceeds the buffer"); }
    }

    void* buffer_     = nullptr;
    std::size_t size_ = 0;
};

} // namespace ck_tile

#else
#include_next "ck_tile/host/device_memory.hpp"
#endif
