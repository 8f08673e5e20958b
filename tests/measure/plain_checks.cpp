// The checks of device targets, compiled as plain C++: the host's memory is the device's.
#include <cstdlib>
#include <cstring>

#include "ckprof_device_checks.hpp"

namespace {

struct api
{
    enum error_type
    {
        success,
        out_of_memory
    };

    static const char* text(error_type) { return "out of memory"; }
    static error_type take_error() { return success; }
    static error_type allocate(void** memory, size_t bytes)
    { return (*memory = std::malloc(bytes)) != nullptr ? success : out_of_memory; }
    static error_type release(void* memory)
    {
        std::free(memory);
        return success;
    }
    static error_type memory_info(size_t*, size_t*) { return out_of_memory; }
    static error_type copy_to_device(void* to, const void* from, size_t bytes)
    { return std::memcpy(to, from, bytes) != nullptr ? success : out_of_memory; }
    static error_type copy_to_host(void* to, const void* from, size_t bytes)
    { return copy_to_device(to, from, bytes); }
    static error_type fill_async(void* memory, int value, size_t bytes)
    { return std::memset(memory, value, bytes) != nullptr ? success : out_of_memory; }
    static error_type wait() { return success; }
};

constexpr ckprof_checks table = ckprof::checks::table<api>();

} // namespace

extern "C" const ckprof_checks* ckprof_get_checks(void) { return &table; }
