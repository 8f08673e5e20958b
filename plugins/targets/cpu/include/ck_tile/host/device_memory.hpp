// SPDX-License-Identifier: MIT
// Owner of a buffer in "device" memory, which here is aligned host memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

namespace ck_tile {

class DeviceMem
{
public:
    DeviceMem() = default;
    explicit DeviceMem(std::size_t bytes) { Realloc(bytes); }

    DeviceMem(const DeviceMem&)            = delete;
    DeviceMem& operator=(const DeviceMem&) = delete;
    DeviceMem(DeviceMem&& other) noexcept
        : buffer_(std::move(other.buffer_)),
          size_(std::exchange(other.size_, 0))
    {}
    DeviceMem& operator=(DeviceMem&& other) noexcept
    {
        buffer_ = std::move(other.buffer_);
        size_   = std::exchange(other.size_, 0);
        return *this;
    }

    // Contents are lost. A size of 0 gives a null pointer.
    void Realloc(std::size_t bytes)
    {
        buffer_.reset();
        size_ = 0;
        if(bytes != 0) { buffer_.reset(::operator new(bytes, alignment)); }
        size_ = bytes;
    }

    void* GetDeviceBuffer() const { return buffer_.get(); }
    std::size_t GetBufferSize() const { return size_; }

    void ToDevice(const void* source) const { ToDevice(source, size_); }
    void ToDevice(const void* source, std::size_t bytes) const
    {
        check(bytes);
        if(bytes != 0) { std::memcpy(buffer_.get(), source, bytes); }
    }
    void FromDevice(void* destination) const { FromDevice(destination, size_); }
    void FromDevice(void* destination, std::size_t bytes) const
    {
        check(bytes);
        if(bytes != 0) { std::memcpy(destination, buffer_.get(), bytes); }
    }

    void SetZero() const
    {
        if(size_ != 0) { std::memset(buffer_.get(), 0, size_); }
    }

    template <typename T>
    void SetValue(T value) const
    {
        if(size_ % sizeof(T) != 0)
        {
            throw std::runtime_error("DeviceMem: the size is not a multiple of the value's size");
        }
        std::fill_n(static_cast<T*>(buffer_.get()), size_ / sizeof(T), value);
    }

private:
    static constexpr std::align_val_t alignment{64};

    struct deleter
    {
        void operator()(void* buffer) const { ::operator delete(buffer, alignment); }
    };

    void check(std::size_t bytes) const
    {
        if(bytes > size_) { throw std::runtime_error("DeviceMem: copy exceeds the buffer"); }
    }

    std::unique_ptr<void, deleter> buffer_;
    std::size_t size_ = 0;
};

} // namespace ck_tile
