// SPDX-License-Identifier: MIT
// Which devices there are: one, of the architecture that the library's kernels are made for.
#include <cstdio>

#include "runtime/api.hpp"
#include "runtime/device.hpp"

using namespace ckprof::emulator;

namespace {

hipError_t check(int index) { return index == 0 ? hipSuccess : remember(hipErrorInvalidDevice); }

} // namespace

hipError_t hipInit(unsigned) { return enter(__func__); }

hipError_t hipGetDeviceCount(int* count)
{
    *count = 0;
    CKPROF_ENTER();
    *count = 1;
    return hipSuccess;
}

hipError_t hipSetDevice(int index)
{
    CKPROF_ENTER();
    return check(index);
}

hipError_t hipGetDevice(int* index)
{
    CKPROF_ENTER();
    *index = 0;
    return hipSuccess;
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int index)
{
    CKPROF_ENTER();
    if(const hipError_t error = check(index); error != hipSuccess) return error;
    const DeviceModel& model = device().model();
    *properties              = {};
    std::snprintf(properties->name, sizeof(properties->name), "emulated %s", model.arch);
    std::snprintf(
        properties->gcnArchName, sizeof(properties->gcnArchName), "%s", device().arch().c_str());
    properties->totalGlobalMem      = device().memory_bytes();
    properties->multiProcessorCount = static_cast<int>(model.compute_units);
    properties->clockRate           = static_cast<int>(model.clock_mhz * 1000);
    properties->sharedMemPerBlock   = model.lds_bytes;
    properties->warpSize            = static_cast<int>(model.lanes_per_wave);
    properties->maxThreadsPerBlock  = 1024;
    properties->maxThreadsDim[0]    = 1024;
    properties->maxThreadsDim[1]    = 1024;
    properties->maxThreadsDim[2]    = 1024;
    properties->maxGridSize[0]      = 2147483647;
    properties->maxGridSize[1]      = 65536;
    properties->maxGridSize[2]      = 65536;
    properties->major               = 9;
    return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int index)
{
    CKPROF_ENTER();
    if(const hipError_t error = check(index); error != hipSuccess) return error;
    const DeviceModel& model = device().model();
    switch(attribute)
    {
    case hipDeviceAttributeMultiprocessorCount:
        *value = static_cast<int>(model.compute_units);
        break;
    case hipDeviceAttributeClockRate: *value = static_cast<int>(model.clock_mhz * 1000); break;
    case hipDeviceAttributeWarpSize: *value = static_cast<int>(model.lanes_per_wave); break;
    case hipDeviceAttributeMaxThreadsPerBlock: *value = 1024; break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
        *value = static_cast<int>(model.lds_bytes);
        break;
    default: return remember(hipErrorInvalidValue, "an attribute that the emulated device lacks");
    }
    return hipSuccess;
}

// The version of HIP's headers, as ROCm writes it.
hipError_t hipDriverGetVersion(int* version)
{
    CKPROF_ENTER();
    *version = HIP_VERSION;
    return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int* version) { return hipDriverGetVersion(version); }
