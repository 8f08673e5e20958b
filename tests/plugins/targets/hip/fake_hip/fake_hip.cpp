// SPDX-License-Identifier: MIT
// A HIP runtime in plain memory. Work is queued and done when somebody waits for it, in the order
// in which it came; the device's time is counted, and waiting takes as long. Copies and kernels are
// checked: bounds, device, direction. Errors behave as those of CUDA: the last one is kept until it
// is read, and those of kernels end the device for the process.
//
//   FAKE_HIP_DEVICES  architectures, separated by commas; gfx942 unless set
//   FAKE_HIP_MEMORY   bytes of each device
//   FAKE_HIP_FAIL     function:call:code, the call that returns that error, counted from 1
//   FAKE_HIP_ONCE     file that the first such error removes; without it there is none
//   FAKE_HIP_LOG      file that gets the name of each function that is called
//   ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES: indices, as in the runtime
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "fake_launch.hpp"

struct ihipEvent_t
{
    bool recorded = false;
    bool reached  = false;
    double at_us  = 0;
};

namespace {

constexpr double call_us        = 5;  // of the host, for a call
constexpr double set_us_per_mib = 40; // of the device

struct Block
{
    size_t bytes;
    int device;
};

struct Work
{
    std::function<void()> body;
    std::vector<FakeAccess> accesses;
    double microseconds;
    double queued_us;
    hipEvent_t event;
};

struct Runtime
{
    std::vector<std::string> devices;
    size_t memory = size_t{64} << 20;
    int current   = 0;
    std::map<const char*, Block> blocks;
    std::vector<Work> queue;
    double host_us = 0, device_us = 0, slept_us = 0;
    hipError_t last = hipSuccess, sticky = hipSuccess;
    std::map<std::string, int> calls;
};

std::vector<std::string> words(const std::string& text)
{
    std::vector<std::string> all;
    std::istringstream stream(text);
    for(std::string word; std::getline(stream, word, ',');) all.push_back(word);
    return all;
}

void select(std::vector<std::string>& devices, const char* list)
{
    std::vector<size_t> chosen;
    for(const std::string& word : words(list))
    {
        const size_t index = std::strtoul(word.c_str(), nullptr, 10);
        if(word != std::to_string(index) || index >= devices.size()) break;
        if(std::find(chosen.begin(), chosen.end(), index) == chosen.end()) chosen.push_back(index);
    }
    std::vector<std::string> visible;
    for(const size_t index : chosen) visible.push_back(devices[index]);
    devices = visible;
}

const char* variable(const char* name)
{
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

Runtime& runtime()
{
    static Runtime* only = [] {
        auto* made         = new Runtime;
        const char* listed = std::getenv("FAKE_HIP_DEVICES");
        made->devices      = words(listed != nullptr ? listed : "gfx942:sramecc+:xnack-");
        if(*variable("FAKE_HIP_MEMORY") != 0)
            made->memory = std::strtoull(variable("FAKE_HIP_MEMORY"), nullptr, 10);
        if(const char* list = std::getenv("ROCR_VISIBLE_DEVICES")) select(made->devices, list);
        const char* list = variable("HIP_VISIBLE_DEVICES");
        if(*list == 0) list = variable("CUDA_VISIBLE_DEVICES");
        if(*list != 0) select(made->devices, list);
        return made;
    }();
    return *only;
}

hipError_t remember(hipError_t error)
{
    if(error != hipSuccess) runtime().last = error;
    return error;
}

// What every function does first; an error is what it returns at once.
hipError_t enter(const char* function)
{
    Runtime& r = runtime();
    r.host_us += call_us;
    if(const char* log = std::getenv("FAKE_HIP_LOG"))
        if(FILE* file = std::fopen(log, "a"))
        {
            std::fprintf(file, "%s\n", function);
            std::fclose(file);
        }
    const int call = ++r.calls[function];
    char name[64]  = "";
    int at = 0, code = 0;
    if(std::sscanf(variable("FAKE_HIP_FAIL"), "%63[^:]:%d:%d", name, &at, &code) == 3 &&
       call == at && std::strcmp(name, function) == 0 &&
       (*variable("FAKE_HIP_ONCE") == 0 || unlink(variable("FAKE_HIP_ONCE")) == 0))
    {
        const auto error = static_cast<hipError_t>(code);
        if(error == hipErrorIllegalAddress || error == hipErrorLaunchFailure) r.sticky = error;
        return remember(error);
    }
    return remember(r.sticky);
}

// Whether all bytes are in one piece of memory of the current device.
bool on_device(const void* address, size_t bytes)
{
    Runtime& r       = runtime();
    const char* from = static_cast<const char*>(address);
    auto next        = r.blocks.upper_bound(from);
    if(next == r.blocks.begin()) return false;
    const auto& [begin, block] = *--next;
    return block.device == r.current && from + bytes <= begin + block.bytes;
}

bool touches_device(const void* address, size_t bytes)
{
    const char* from = static_cast<const char*>(address);
    return std::any_of(runtime().blocks.begin(), runtime().blocks.end(), [&](const auto& entry) {
        return from < entry.first + entry.second.bytes && entry.first < from + bytes;
    });
}

void add(Work work)
{
    work.queued_us = runtime().host_us;
    runtime().queue.push_back(std::move(work));
}

hipError_t finish()
{
    Runtime& r = runtime();
    std::vector<Work> queue;
    queue.swap(r.queue);
    for(Work& work : queue)
    {
        r.device_us = std::max(r.device_us, work.queued_us) + work.microseconds;
        if(work.event != nullptr)
        {
            work.event->reached = true;
            work.event->at_us   = r.device_us;
            continue;
        }
        for(const FakeAccess& access : work.accesses)
            if(!on_device(access.address, access.bytes)) r.sticky = hipErrorIllegalAddress;
        if(r.sticky != hipSuccess) return remember(r.sticky);
        work.body();
    }
    r.host_us = std::max(r.host_us, r.device_us);
    if(const double ahead = r.host_us - r.slept_us; ahead > 0)
        usleep(static_cast<useconds_t>(ahead) + 1);
    r.slept_us = r.host_us;
    return hipSuccess;
}

hipError_t copy(void* to, const void* from, size_t bytes, hipMemcpyKind kind)
{
    if(kind != hipMemcpyHostToDevice && kind != hipMemcpyDeviceToHost)
        return hipErrorInvalidMemcpyDirection;
    const bool up      = kind == hipMemcpyHostToDevice;
    const void* device = up ? to : from;
    const void* host   = up ? from : to;
    if(touches_device(host, bytes)) return hipErrorInvalidMemcpyDirection;
    if(!on_device(device, bytes)) return hipErrorInvalidValue;
    if(const hipError_t error = finish(); error != hipSuccess) return error;
    std::memcpy(to, from, bytes);
    return hipSuccess;
}

} // namespace

hipError_t
fake_launch(std::function<void()> body, std::vector<FakeAccess> accesses, double microseconds)
{
    if(const hipError_t error = enter("hipLaunchKernel"); error != hipSuccess) return error;
    add({std::move(body), std::move(accesses), microseconds, 0, nullptr});
    return hipSuccess;
}

#define ENTER()                                                                                    \
    if(const hipError_t error = enter(__func__); error != hipSuccess) return error

hipError_t hipGetDeviceCount(int* count)
{
    ENTER();
    *count = static_cast<int>(runtime().devices.size());
    return remember(*count == 0 ? hipErrorNoDevice : hipSuccess);
}

// 6.3, as ROCm writes it.
hipError_t hipDriverGetVersion(int* version)
{
    ENTER();
    *version = 60342131;
    return hipSuccess;
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device)
{
    ENTER();
    Runtime& r = runtime();
    if(device < 0 || device >= static_cast<int>(r.devices.size()))
        return remember(hipErrorInvalidDevice);
    std::snprintf(properties->name, sizeof(properties->name), "Fake GPU %d", device);
    std::snprintf(properties->gcnArchName,
                  sizeof(properties->gcnArchName),
                  "%s",
                  r.devices[static_cast<size_t>(device)].c_str());
    properties->totalGlobalMem      = r.memory;
    properties->multiProcessorCount = 304;
    properties->clockRate           = 2'100'000;
    return hipSuccess;
}

hipError_t hipSetDevice(int device)
{
    ENTER();
    if(device < 0 || device >= static_cast<int>(runtime().devices.size()))
        return remember(hipErrorInvalidDevice);
    runtime().current = device;
    return hipSuccess;
}

hipError_t hipGetDevice(int* device)
{
    ENTER();
    *device = runtime().current;
    return hipSuccess;
}

hipError_t hipMemGetInfo(size_t* free, size_t* total)
{
    ENTER();
    Runtime& r = runtime();
    *free = *total = r.memory;
    for(const auto& [address, block] : r.blocks)
        if(block.device == r.current) *free -= block.bytes;
    return hipSuccess;
}

hipError_t hipMalloc(void** memory, size_t bytes)
{
    ENTER();
    Runtime& r  = runtime();
    size_t left = r.memory;
    for(const auto& [address, block] : r.blocks)
        if(block.device == r.current) left -= block.bytes;
    if(bytes > left) return remember(hipErrorOutOfMemory);
    *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    r.blocks.emplace(static_cast<const char*>(*memory), Block{bytes, r.current});
    return hipSuccess;
}

hipError_t hipFree(void* memory)
{
    ENTER();
    const auto found = runtime().blocks.find(static_cast<const char*>(memory));
    if(found == runtime().blocks.end()) return remember(hipErrorInvalidValue);
    if(const hipError_t error = finish(); error != hipSuccess) return error;
    runtime().blocks.erase(found);
    std::free(memory);
    return hipSuccess;
}

hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind)
{
    ENTER();
    return remember(copy(to, from, bytes, kind));
}

hipError_t hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t)
{
    ENTER();
    if(!on_device(memory, bytes)) return remember(hipErrorInvalidValue);
    add({[=] { std::memset(memory, value, bytes); },
         {{memory, bytes}},
         set_us_per_mib * static_cast<double>(bytes) / (1 << 20),
         0,
         nullptr});
    return hipSuccess;
}

hipError_t hipDeviceSynchronize()
{
    ENTER();
    return finish();
}

hipError_t hipEventCreate(hipEvent_t* event)
{
    ENTER();
    *event = new ihipEvent_t;
    return hipSuccess;
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    ENTER();
    if(const hipError_t error = finish(); error != hipSuccess) return error;
    delete event;
    return hipSuccess;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t)
{
    ENTER();
    event->recorded = true;
    event->reached  = false;
    add({{}, {}, 0, 0, event});
    return hipSuccess;
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    ENTER();
    return event->recorded ? finish() : remember(hipErrorInvalidHandle);
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop)
{
    ENTER();
    if(!start->recorded || !stop->recorded) return remember(hipErrorInvalidHandle);
    if(!start->reached || !stop->reached) return remember(hipErrorNotReady);
    *milliseconds = static_cast<float>((stop->at_us - start->at_us) / 1e3);
    return hipSuccess;
}

hipError_t hipGetLastError()
{
    (void)enter(__func__);
    return std::exchange(runtime().last, runtime().sticky);
}

const char* hipGetErrorString(hipError_t error)
{
    switch(error)
    {
    case hipSuccess: return "no error";
    case hipErrorInvalidValue: return "invalid argument";
    case hipErrorOutOfMemory: return "out of memory";
    case hipErrorInvalidMemcpyDirection: return "invalid copy direction for memcpy";
    case hipErrorNoDevice: return "no ROCm-capable device is detected";
    case hipErrorInvalidDevice: return "invalid device ordinal";
    case hipErrorInvalidHandle: return "invalid resource handle";
    case hipErrorNotReady: return "device not ready";
    case hipErrorIllegalAddress: return "an illegal memory access was encountered";
    case hipErrorLaunchFailure: return "unspecified launch failure";
    }
    return "unrecognized error code";
}

const char* hipGetErrorName(hipError_t error)
{
    switch(error)
    {
    case hipErrorInvalidValue: return "hipErrorInvalidValue";
    case hipErrorOutOfMemory: return "hipErrorOutOfMemory";
    case hipErrorNoDevice: return "hipErrorNoDevice";
    case hipErrorIllegalAddress: return "hipErrorIllegalAddress";
    case hipErrorLaunchFailure: return "hipErrorLaunchFailure";
    default: return "hipErrorUnknown";
    }
}
