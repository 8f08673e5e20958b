// SPDX-License-Identifier: MIT
// What the CPU offers to the worker process: memory, caches, and the device that is modelled.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "ck_tile/host_model/device.hpp"
#include "ck_tile/host_model/product_unit.hpp"
#include "ck_tile/host_model/sampling.hpp"
#include "ckprof_target.h"

namespace {

constexpr size_t page_bytes      = 4096;
constexpr size_t large_page_size = size_t{2} << 20;
constexpr size_t line_bytes      = 64;
// Below this a thread takes longer to start than to do its share.
constexpr size_t bytes_per_thread = size_t{4} << 20;

void copy_text(const char* text, char* buffer, size_t size) noexcept
{
    if(buffer == nullptr || size == 0) return;
    const size_t length = std::min(std::strlen(text), size - 1);
    std::memcpy(buffer, text, length);
    buffer[length] = '\0';
}

ckprof_status
select_device(const char* arch, int32_t index, char* reason, size_t reason_size) noexcept
{
    try
    {
        const std::string name = arch == nullptr ? "" : arch;
        if(index != 0)
        {
            copy_text("the host model has one device, number 0", reason, reason_size);
            return CKPROF_REJECTED;
        }
        if(ck_tile::host_model::set_device(name)) return CKPROF_OK;
        const std::string why =
            "'" + name + "' is not modelled; known are " + ck_tile::host_model::device_names();
        copy_text(why.c_str(), reason, reason_size);
        return CKPROF_REJECTED;
    }
    catch(const std::exception& error)
    {
        copy_text(error.what(), reason, reason_size);
        return CKPROF_FAILED;
    }
}

void set_cpu_threads(int32_t workers) noexcept { ck_tile::host_model::set_worker_count(workers); }

// Launches of bf16 kernels by unit, up to the last call of ckprof_units_used().
std::array<std::uint64_t, ck_tile::host_model::all_product_units.size()> told_launches{};

const char* vector_set() noexcept
{
#if defined(__AVX512F__)
    return "AVX-512";
#elif defined(__AVX2__)
    return "AVX2";
#elif defined(__AVX__)
    return "AVX";
#elif defined(__ARM_FEATURE_SVE)
    return "SVE";
#elif defined(__ARM_NEON)
    return "NEON";
#elif defined(__SSE2__)
    return "SSE2";
#else
    return "no vector instructions";
#endif
}

const char* bf16_unit() noexcept
{
    switch(ck_tile::host_model::best_product_unit())
    {
    case ck_tile::host_model::product_unit::fp32: return "";
    case ck_tile::host_model::product_unit::pairs: return ", bf16 in pairs (AVX512-BF16)";
    case ck_tile::host_model::product_unit::tiles: return ", bf16 in tiles (AMX)";
    }
    return "";
}

void describe_device(char* text, size_t text_size) noexcept
{
    const auto& device = ck_tile::host_model::current_device();
    if(text != nullptr && text_size != 0)
        std::snprintf(text,
                      text_size,
                      "%s modelled with %d compute units on %d CPU threads, %s%s",
                      device.name.c_str(),
                      device.compute_units,
                      ck_tile::host_model::worker_count(),
                      vector_set(),
                      bf16_unit());
}

#if defined(__linux__)
// Memory that takes what is touched of it, page by page; address -> bytes.
std::unordered_map<void*, size_t> sparse_memory;

void* allocate_sparse(size_t bytes) noexcept
{
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const memory  = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if(memory == MAP_FAILED) return nullptr;
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE); // only advice
    try
    {
        sparse_memory.emplace(memory, bytes);
    }
    catch(const std::exception&)
    {
        (void)munmap(memory, bytes);
        return nullptr;
    }
    return memory;
}
#endif

void* allocate(size_t bytes) noexcept
{
#if defined(__linux__)
    if(ck_tile::host_model::current_sampling().is_on()) return allocate_sparse(bytes);
#endif
    // Large buffers start at a large page, so that address translation costs every run the same.
    const size_t alignment = bytes >= large_page_size ? large_page_size : page_bytes;
    if(bytes > SIZE_MAX - alignment) return nullptr;
    const size_t whole = std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
    void* memory       = std::aligned_alloc(alignment, whole);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if(memory != nullptr && alignment == large_page_size)
        (void)madvise(memory, whole, MADV_HUGEPAGE); // only advice
#endif
    return memory;
}

void release(void* memory) noexcept
{
#if defined(__linux__)
    if(const auto found = sparse_memory.find(memory); found != sparse_memory.end())
    {
        (void)munmap(memory, found->second);
        sparse_memory.erase(found);
        return;
    }
#endif
    std::free(memory);
}

ckprof_status copy_to_device(void* device, const void* host, size_t bytes) noexcept
{
    if(bytes != 0) std::memcpy(device, host, bytes);
    return CKPROF_OK;
}

ckprof_status copy_to_host(void* host, const void* device, size_t bytes) noexcept
{
    if(bytes != 0) std::memcpy(host, device, bytes);
    return CKPROF_OK;
}

// Reads and writes every cache line, so that lines are fetched and old ones are pushed out.
void touch(unsigned char* begin, unsigned char* end) noexcept
{
    for(unsigned char* line = begin; line < end; line += line_bytes)
    {
        auto* value = reinterpret_cast<volatile uint64_t*>(line);
        *value      = *value + 1;
    }
}

struct flush_buffer
{
    unsigned char* memory = nullptr;
    size_t bytes          = 0;

    ~flush_buffer() { release(memory); }

    bool resize(size_t wanted) noexcept
    {
        if(wanted == bytes) return true;
        release(memory);
        memory = nullptr;
        bytes  = 0;
        if(wanted == 0) return true;
        memory = static_cast<unsigned char*>(allocate(wanted));
        if(memory == nullptr) return false;
        // Untouched pages may all be the same zero page, which would evict next to nothing.
        std::memset(memory, 1, wanted);
        bytes = wanted;
        return true;
    }
};

ckprof_status flush_cache(size_t bytes) noexcept
{
    static flush_buffer buffer;
    const size_t whole = bytes / line_bytes * line_bytes;
    if(!buffer.resize(whole)) return CKPROF_REJECTED;
    if(whole == 0) return CKPROF_OK;

    // One thread per worker: faster, and each evicts the private caches of the core that it runs
    // on.
    const size_t lines   = whole / line_bytes;
    const size_t workers = static_cast<size_t>(std::max(1, ck_tile::host_model::worker_count()));
    const size_t threads = std::clamp<size_t>(whole / bytes_per_thread, 1, workers);
    const auto share     = [&](size_t thread) {
        unsigned char* begin = buffer.memory + lines * thread / threads * line_bytes;
        unsigned char* end   = buffer.memory + lines * (thread + 1) / threads * line_bytes;
        touch(begin, end);
    };

    size_t started = 1;
    std::vector<std::thread> helpers;
    try
    {
        helpers.reserve(threads);
        for(; started < threads; ++started) helpers.emplace_back(share, started);
    }
    catch(const std::exception&)
    {
        // No more threads are to be had: this one does their shares.
    }
    share(0);
    for(size_t thread = started; thread < threads; ++thread) share(thread);
    for(std::thread& helper : helpers) helper.join();
    return CKPROF_OK;
}

// What the system can still hand out without swapping.
uint64_t available_bytes() noexcept
{
#if defined(__linux__)
    std::FILE* file = std::fopen("/proc/meminfo", "r");
    if(file == nullptr) return 0;
    char line[128];
    unsigned long long kibibytes = 0;
    while(std::fgets(line, sizeof(line), file) != nullptr)
        if(std::sscanf(line, "MemAvailable: %llu kB", &kibibytes) == 1) break;
    std::fclose(file);
    return uint64_t{kibibytes} * 1024;
#else
    return 0;
#endif
}

constexpr ckprof_target table = {
    "cpu",
    &select_device,
    &set_cpu_threads,
    &describe_device,
    &allocate,
    &release,
    &copy_to_device,
    &copy_to_host,
    &flush_cache,
    &available_bytes,
    nullptr, // there is no device that could fail
    nullptr, // nor one to be told from others
};

} // namespace

extern "C" const ckprof_target* ckprof_target_table(void) { return &table; }

// Has launches execute the blocks at these places alone, and memory that is allocated from now on
// take what is touched of it; returns how often memory would have been set since the last call.
extern "C" __attribute__((visibility("default"))) std::uint64_t
ckprof_host_model_sample(const double* places, size_t count)
{
    auto& sampling = ck_tile::host_model::current_sampling();
    sampling.places.assign(places, places + count);
    return std::exchange(sampling.sets, 0);
}

extern "C" void ckprof_units_used(char* names, size_t names_size)
{
    std::string used;
    for(const auto unit : ck_tile::host_model::all_product_units)
    {
        std::uint64_t& told          = told_launches[static_cast<std::size_t>(unit)];
        const std::uint64_t launches = ck_tile::host_model::launches_by(unit);
        if(launches != told)
        {
            if(!used.empty()) { used += ','; }
            used += ck_tile::host_model::name_of(unit);
        }
        told = launches;
    }
    copy_text(used.c_str(), names, names_size);
}
