// SPDX-License-Identifier: MIT
// What the functions of the HIP runtime have in common: errors. The structures are those of the
// user's HIP headers, with which kernels are compiled as well.
#pragma once

// the library exports nothing else
#pragma GCC visibility push(default)
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
#pragma GCC visibility pop

#include <functional>
#include <string>

namespace ckprof::emulator {

// What every function does first: sticky errors, and those that a test asks for.
hipError_t enter(const char* function);

// Keeps an error for hipGetLastError.
hipError_t remember(hipError_t error, const std::string& message = {});

// An error after which the device answers nothing else; its message goes to stderr, too.
hipError_t device_lost(hipError_t error, const std::string& message);

// Launches a kernel; what it throws becomes the error that HIP's functions return.
hipError_t launched(const std::function<void()>& launch);

} // namespace ckprof::emulator

#define CKPROF_ENTER()                                                                             \
    if(const hipError_t error = ckprof::emulator::enter(__func__); error != hipSuccess) return error
