// The calls of NVIDIA's driver that the judge makes, for a GPU whose memory is the host's. Copies,
// handles and rights are those of the system; a GPU has an address space of its own, this one
// shares its process's.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace {
constexpr std::size_t granule = 1 << 16;
constexpr int no_context      = 201;
int the_context;
// each thread has its own
thread_local void* current = nullptr;
int refuses_reading() { return std::getenv("FAKE_GPU_WRITES") != nullptr; }
} // namespace

struct Location
{ int type, id; };
struct Properties
{
    int type, handle_types;
    Location location;
    void* windows;
    std::uint64_t flags;
};
struct Access
{
    Location location;
    int rights;
};

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int) { return *device = 0, 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &the_context, 0; }
int cuCtxSetCurrent(void* context) { return current = context, 0; }
int cuCtxSynchronize() { return current == &the_context ? 0 : no_context; }
int cuDeviceGetName(char* name, int size, int)
{
    std::strncpy(name, "a GPU that is none", size);
    return 0;
}
int cuGetErrorString(int, const char** text) { return *text = "not possible", 0; }
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total)
{
    *free = *total = std::size_t{1} << 30;
    return 0;
}
int cuMemGetAllocationGranularity(std::size_t* size, const Properties* wanted, int)
{
    if(wanted->type != 1 || wanted->handle_types != 1 || wanted->location.type != 1) return 1;
    return *size = granule, 0;
}
int cuMemCreate(std::uint64_t* handle, std::size_t size, const Properties*, std::uint64_t)
{
    if(size % granule) return 1;
    if(size > std::size_t{1} << 30) return 2;
    int file = memfd_create("gpu", 0);
    if(file < 0 || ftruncate(file, static_cast<off_t>(size))) return 2;
    return *handle = static_cast<std::uint64_t>(file), 0;
}
int cuMemExportToShareableHandle(int* file, std::uint64_t handle, int, std::uint64_t)
{ return *file = dup(static_cast<int>(handle)), *file < 0; }
int cuMemImportFromShareableHandle(std::uint64_t* handle, void* file, int)
{
    int own        = dup(static_cast<int>(reinterpret_cast<std::intptr_t>(file)));
    return *handle = static_cast<std::uint64_t>(own), own < 0;
}
int cuMemAddressReserve(
    std::uint64_t* at, std::size_t size, std::size_t, std::uint64_t, std::uint64_t)
{
    void* base = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return *at = reinterpret_cast<std::uint64_t>(base), base == MAP_FAILED;
}
int cuMemMap(std::uint64_t at, std::size_t size, std::size_t, std::uint64_t handle, std::uint64_t)
{
    void* mapped = mmap(reinterpret_cast<void*>(at),
                        size,
                        PROT_NONE,
                        MAP_SHARED | MAP_FIXED,
                        static_cast<int>(handle),
                        0);
    return mapped == MAP_FAILED;
}
int cuMemSetAccess(std::uint64_t at, std::size_t size, const Access* access, std::size_t)
{
    if(access->rights == 1 && refuses_reading()) return 801;
    int rights = access->rights == 3 ? PROT_READ | PROT_WRITE : PROT_READ;
    return mprotect(reinterpret_cast<void*>(at), size, rights);
}
int cuMemUnmap(std::uint64_t at, std::size_t size)
{
    return mmap(reinterpret_cast<void*>(at),
                size,
                PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
                -1,
                0) == MAP_FAILED;
}
int cuMemAddressFree(std::uint64_t at, std::size_t size)
{ return munmap(reinterpret_cast<void*>(at), size); }
int cuMemRelease(std::uint64_t handle) { return close(static_cast<int>(handle)); }
int cuMemcpyDtoD_v2(std::uint64_t to, std::uint64_t from, std::size_t size)
{
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), size);
    return 0;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t size)
{
    std::memcpy(reinterpret_cast<void*>(to), from, size);
    return 0;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t size)
{
    std::memcpy(to, reinterpret_cast<void*>(from), size);
    return 0;
}
int cuMemsetD8_v2(std::uint64_t at, unsigned char value, std::size_t size)
{
    std::memset(reinterpret_cast<void*>(at), value, size);
    return 0;
}
}
