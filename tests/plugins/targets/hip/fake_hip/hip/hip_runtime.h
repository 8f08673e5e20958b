// SPDX-License-Identifier: MIT
// What the tests need of HIP's interface, for a runtime library without a GPU.
#ifndef FAKE_HIP_RUNTIME_H
#define FAKE_HIP_RUNTIME_H

#include <cstddef>
#include <cstdint>

struct dim3
{
    std::uint32_t x, y, z;
    constexpr dim3(std::uint32_t x_ = 1, std::uint32_t y_ = 1, std::uint32_t z_ = 1)
        : x(x_),
          y(y_),
          z(z_)
    {}
};

extern "C" {

typedef enum hipError_t
{
    hipSuccess                     = 0,
    hipErrorInvalidValue           = 1,
    hipErrorOutOfMemory            = 2,
    hipErrorMemoryAllocation       = 2,
    hipErrorInvalidMemcpyDirection = 21,
    hipErrorNoDevice               = 100,
    hipErrorInvalidDevice          = 101,
    hipErrorInvalidHandle          = 400,
    hipErrorNotReady               = 600,
    hipErrorIllegalAddress         = 700,
    hipErrorLaunchFailure          = 719
} hipError_t;

typedef enum hipMemcpyKind
{
    hipMemcpyHostToHost     = 0,
    hipMemcpyHostToDevice   = 1,
    hipMemcpyDeviceToHost   = 2,
    hipMemcpyDeviceToDevice = 3
} hipMemcpyKind;

typedef struct hipDeviceProp_t
{
    char name[256];
    char gcnArchName[256];
    size_t totalGlobalMem;
    int multiProcessorCount;
    int clockRate; /* kHz */
} hipDeviceProp_t;

typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;

hipError_t hipGetDeviceCount(int* count);
hipError_t hipDriverGetVersion(int* version);
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDevice(int* device);
hipError_t hipMalloc(void** memory, size_t bytes);
hipError_t hipFree(void* memory);
hipError_t hipMemGetInfo(size_t* free, size_t* total);
hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind);
hipError_t hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t stream);
hipError_t hipDeviceSynchronize(void);
hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);
hipError_t hipGetLastError(void);
const char* hipGetErrorString(hipError_t error);
const char* hipGetErrorName(hipError_t error);

} // extern "C"

#endif
