// SPDX-License-Identifier: MIT
// What support tests of the old library ask the HIP runtime, which is not there: what the device
// is. Host code of its kernels refers to launches as well, which nothing calls.
#include <cstring>

#include <hip/hip_runtime_api.h>

hipError_t hipGetDevice(int* device)
{
    *device = 0;
    return hipSuccess;
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int)
{
    std::memset(static_cast<void*>(properties), 0, sizeof *properties);
    std::strcpy(properties->gcnArchName, CKPROF_OLD_CK_ARCH);
    properties->warpSize            = 64;
    properties->multiProcessorCount = CKPROF_OLD_CK_COMPUTE_UNITS;
    return hipSuccess;
}

// Without code, nothing says how many workgroups fit: automatic numbers of splits are those of one.
extern "C" hipError_t
hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t)
{
    *blocks = 1;
    return hipSuccess;
}

extern "C" {
void** __hipRegisterFatBinary(const void*) { return nullptr; }
void __hipUnregisterFatBinary(void**) {}
void __hipRegisterFunction(
    void**, const void*, char*, const char*, unsigned, void*, void*, void*, void*, int*)
{}
void __hipRegisterVar(void**, void*, char*, const char*, int, size_t, int, int) {}
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t, hipStream_t) { return hipErrorNoDevice; }
hipError_t __hipPopCallConfiguration(dim3*, dim3*, size_t*, hipStream_t*)
{ return hipErrorNoDevice; }
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t, int)
{
    *value = 64; // lanes of a wave are all that is asked
    return hipSuccess;
}

const char* hipGetErrorString(hipError_t) { return "no device"; }
hipError_t hipGetLastError() { return hipSuccess; }
hipError_t hipDeviceSynchronize() { return hipErrorNoDevice; }
hipError_t hipEventCreate(hipEvent_t*) { return hipErrorNoDevice; }
hipError_t hipEventDestroy(hipEvent_t) { return hipErrorNoDevice; }
hipError_t hipEventElapsedTime(float*, hipEvent_t, hipEvent_t) { return hipErrorNoDevice; }
hipError_t hipEventRecord(hipEvent_t, hipStream_t) { return hipErrorNoDevice; }
hipError_t hipEventSynchronize(hipEvent_t) { return hipErrorNoDevice; }
hipError_t hipFree(void*) { return hipErrorNoDevice; }
hipError_t hipMalloc(void**, size_t) { return hipErrorNoDevice; }
hipError_t hipMemcpy(void*, const void*, size_t, hipMemcpyKind) { return hipErrorNoDevice; }
hipError_t hipMemset(void*, int, size_t) { return hipErrorNoDevice; }
hipError_t hipMemsetAsync(void*, int, size_t, hipStream_t) { return hipErrorNoDevice; }
hipError_t hipStreamSynchronize(hipStream_t) { return hipErrorNoDevice; }
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t)
{ return hipErrorNoDevice; }
