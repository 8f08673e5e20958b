// SPDX-License-Identifier: MIT
// What compilers call to announce device code and to launch kernels.
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/abort.hpp"
#include "runtime/api.hpp"
#include "runtime/device.hpp"

using namespace ckprof::emulator;

namespace {

// What the host code of a translation unit or library holds.
struct FatBinary
{
    uint32_t magic, version;
    const void* bundle;
    const void* unused;
};

struct Configuration
{
    dim3 grid, block;
    size_t lds_bytes;
    hipStream_t stream;
};

std::vector<Configuration>& configurations()
{
    static thread_local std::vector<Configuration> all;
    return all;
}

std::array<uint32_t, 3> sizes(const dim3& of) { return {of.x, of.y, of.z}; }

hipError_t error_of(Fault fault)
{
    switch(fault)
    {
    case Fault::memory: return hipErrorIllegalAddress;
    case Fault::hang: return hipErrorLaunchTimeOut;
    default: return hipErrorLaunchFailure;
    }
}

// A library whose kernels are registered while the options are wrong must load all the same: the
// error is met by the first function that reports any.
template <typename Body>
void announce(Body body)
{
    try
    {
        body();
    }
    catch(const std::exception& error)
    {
        (void)remember(hipErrorNoDevice, error.what());
    }
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

void** __hipRegisterFatBinary(const void* data)
{
    Module* module = nullptr;
    announce([&] { module = device().add_module(static_cast<const FatBinary*>(data)->bundle); });
    return reinterpret_cast<void**>(module);
}

void __hipUnregisterFatBinary(void** module)
{
    announce([&] { device().remove_module(reinterpret_cast<Module*>(module)); });
}

void __hipRegisterFunction(void** module,
                           const void* host_function,
                           char*,
                           const char* name,
                           unsigned,
                           void*,
                           void*,
                           dim3*,
                           dim3*,
                           int*)
{
    announce([&] { device().add_kernel(reinterpret_cast<Module*>(module), host_function, name); });
}

void __hipRegisterVar(
    void** module, void* host_variable, char*, const char* name, int, size_t, int, int)
{
    announce(
        [&] { device().add_variable(reinterpret_cast<Module*>(module), host_variable, name); });
}
}
#pragma GCC visibility pop

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* workgroups,
                                                        const void* function,
                                                        int threads,
                                                        size_t lds_bytes)
{
    CKPROF_ENTER();
    *workgroups = 0;
    if(threads < 1) return remember(hipErrorInvalidValue);
    try
    {
        *workgroups = static_cast<int>(device().resident(
            function, static_cast<unsigned>(threads), static_cast<unsigned>(lds_bytes)));
        return hipSuccess;
    }
    catch(const std::exception& error)
    {
        return remember(hipErrorInvalidDeviceFunction, error.what());
    }
}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds_bytes, hipStream_t stream)
{
    configurations().push_back({grid, block, lds_bytes, stream});
    return hipSuccess;
}

hipError_t
__hipPopCallConfiguration(dim3* grid, dim3* block, size_t* lds_bytes, hipStream_t* stream)
{
    if(configurations().empty()) return remember(hipErrorInvalidConfiguration);
    const Configuration last = configurations().back();
    configurations().pop_back();
    *grid      = last.grid;
    *block     = last.block;
    *lds_bytes = last.lds_bytes;
    *stream    = last.stream;
    return hipSuccess;
}

hipError_t ckprof::emulator::launched(const std::function<void()>& launch)
{
    try
    {
        launch();
        return hipSuccess;
    }
    catch(const DeviceError& error)
    {
        const hipError_t code = device_lost(error_of(error.kind()), error.what());
        // a device does not end what hangs
        if(!device().options().faults_abort || error.kind() == Fault::hang) return code;
        const auto* fault = dynamic_cast<const MemoryFault*>(&error);
        abort_process(error.kind(),
                      fault != nullptr ? std::optional(fault->address()) : std::nullopt);
    }
    catch(const CheckFailure& error)
    {
        return device_lost(hipErrorLaunchFailure, error.what());
    }
    catch(const std::invalid_argument& error)
    {
        return remember(hipErrorInvalidConfiguration, error.what());
    }
    catch(const std::bad_alloc&)
    {
        return remember(hipErrorOutOfMemory, "memory of the host");
    }
    catch(const std::exception& error)
    {
        return remember(hipErrorNoBinaryForGpu, error.what());
    }
}

hipError_t hipLaunchKernel(
    const void* function, dim3 grid, dim3 block, void** arguments, size_t lds_bytes, hipStream_t)
{
    CKPROF_ENTER();
    return launched([&] {
        device().launch(
            function, {sizes(grid), sizes(block), static_cast<uint32_t>(lds_bytes)}, arguments);
    });
}
