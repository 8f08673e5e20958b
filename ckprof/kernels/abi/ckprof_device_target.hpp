// SPDX-License-Identifier: MIT
//
// Memory, copies, caches and errors of a GPU, for targets whose runtime has the calls of CUDA's
// under names of its own.
#ifndef CKPROF_DEVICE_TARGET_HPP
#define CKPROF_DEVICE_TARGET_HPP

#include <cstdint>
#include <cstring>
#include <string>

#include "ckprof_target.h"

namespace ckprof::device_target {

inline void copy_text(const char* text, char* buffer, size_t size) noexcept
{
    if(buffer == nullptr || size == 0) return;
    const size_t length = strnlen(text, size - 1);
    std::memcpy(buffer, text, length);
    buffer[length] = '\0';
}

inline ckprof_status reject(const std::string& why, char* reason, size_t reason_size) noexcept
{
    copy_text(why.c_str(), reason, reason_size);
    return CKPROF_REJECTED;
}

// Api has the runtime's types and calls as static members, see the targets. What is common to all
// devices of one process is static, too: one library, one worker, one device.
template <typename Api>
struct functions
{
    using error_type = typename Api::error_type;

    // Of the last call that failed.
    static inline error_type failure = Api::success;

    // Remembers an error, which is reported from here on: a launch that comes later must not find
    // it.
    static error_type noted(error_type error) noexcept
    {
        if(error == Api::success) return error;
        failure = error;
        (void)Api::take_error();
        return error;
    }

    // Whether there is a device of that index; the reason why not otherwise.
    static ckprof_status check_index(int index, char* reason, size_t reason_size)
    {
        int count                = 0;
        const error_type counted = noted(Api::count_devices(&count));
        if(counted != Api::success || count == 0)
            return reject(std::string("no ") + Api::vendor + " GPU was found" +
                              (counted == Api::success ? "" : ": ") +
                              (counted == Api::success ? "" : Api::text(counted)),
                          reason,
                          reason_size);
        if(index < 0 || index >= count)
            return reject("there is no device " + std::to_string(index) + ", the last one is " +
                              std::to_string(count - 1),
                          reason,
                          reason_size);
        return CKPROF_OK;
    }

    // Makes this the device of the process.
    static ckprof_status use(int index, char* reason, size_t reason_size)
    {
        if(const error_type error = Api::set_device(index); error != Api::success)
            return reject(Api::text(error), reason, reason_size);
        return CKPROF_OK;
    }

    static void set_cpu_threads(int32_t) noexcept {}

    static void last_error(char* text, size_t text_size) noexcept
    { copy_text(failure == Api::out_of_memory ? "" : Api::text(failure), text, text_size); }

    static void* allocate(size_t bytes) noexcept
    {
        void* memory = nullptr;
        return noted(Api::allocate(&memory, bytes == 0 ? 1 : bytes)) == Api::success ? memory
                                                                                     : nullptr;
    }

    static void release(void* memory) noexcept
    {
        if(memory != nullptr) (void)noted(Api::release(memory));
    }

    static ckprof_status done(error_type error) noexcept
    { return noted(error) == Api::success ? CKPROF_OK : CKPROF_FAILED; }

    static ckprof_status copy_to_device(void* device, const void* host, size_t bytes) noexcept
    { return bytes == 0 ? CKPROF_OK : done(Api::copy_to_device(device, host, bytes)); }

    static ckprof_status copy_to_host(void* host, const void* device, size_t bytes) noexcept
    { return bytes == 0 ? CKPROF_OK : done(Api::copy_to_host(host, device, bytes)); }

    // Writes all of a piece of memory of its own, which pushes everything else out of the caches.
    // Does not wait: the launch that follows is prepared meanwhile and its latency is not measured.
    static ckprof_status flush_cache(size_t bytes) noexcept
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
                    return failure == Api::out_of_memory ? CKPROF_REJECTED : CKPROF_FAILED;
                held = bytes;
            }
        }
        if(held == 0) return CKPROF_OK;
        pattern ^= 1;
        return done(Api::fill_async(memory, pattern, held));
    }

    static uint64_t available_bytes() noexcept
    {
        size_t free = 0, total = 0;
        return noted(Api::memory_info(&free, &total)) == Api::success ? free : 0;
    }
};

// What a target adds: the choice of the device, and what it says of it.
template <typename Api>
constexpr ckprof_target table(const char* id,
                              ckprof_status (*select_device)(const char*, int32_t, char*, size_t),
                              void (*describe_device)(char*, size_t),
                              ckprof_status (*identify_device)(ckprof_device*))
{
    using own = functions<Api>;
    return {id,
            select_device,
            &own::set_cpu_threads,
            describe_device,
            &own::allocate,
            &own::release,
            &own::copy_to_device,
            &own::copy_to_host,
            &own::flush_cache,
            &own::available_bytes,
            &own::last_error,
            identify_device};
}

} // namespace ckprof::device_target

#endif
