// SPDX-License-Identifier: MIT
// How the tests' kernels reach the fake runtime: what a kernel touches is checked before it runs.
#ifndef FAKE_LAUNCH_HPP
#define FAKE_LAUNCH_HPP

#include <cstddef>
#include <functional>
#include <vector>

#include <hip/hip_runtime.h>

struct FakeAccess
{
    const void* address;
    size_t bytes;
};

// Queues a kernel that takes so many microseconds of the device's time.
hipError_t
fake_launch(std::function<void()> body, std::vector<FakeAccess> accesses, double microseconds);

#endif
