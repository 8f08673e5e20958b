// SPDX-License-Identifier: MIT
// The target of a library that only answers questions about problems: it has no device.
#include <cstdio>

#include "ckprof_target.h"

namespace {

ckprof_status select_device(const char*, int32_t, char*, size_t) noexcept { return CKPROF_OK; }
void set_cpu_threads(int32_t) noexcept {}
void describe_device(char* text, size_t text_size) noexcept
{
    if(text != nullptr && text_size != 0)
        std::snprintf(text, text_size, "no device: support tests on the host");
}
void* allocate(size_t) noexcept { return nullptr; }
void release(void*) noexcept {}
ckprof_status copy_to_device(void*, const void*, size_t) noexcept { return CKPROF_FAILED; }
ckprof_status copy_to_host(void*, const void*, size_t) noexcept { return CKPROF_FAILED; }
ckprof_status flush_cache(size_t) noexcept { return CKPROF_FAILED; }
uint64_t available_bytes() noexcept { return 0; }

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
                                 nullptr,
                                 nullptr};

} // namespace

extern "C" const ckprof_target* ckprof_target_table(void) { return &table; }
