// SPDX-License-Identifier: MIT
// Errors as the HIP runtime keeps them: the last one until it is read, those of kernels for good.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/abort.hpp"
#include "runtime/api.hpp"
#include "runtime/device.hpp"

namespace ckprof::emulator {
namespace {

struct Errors
{
    std::mutex mutex;
    hipError_t last = hipSuccess, sticky = hipSuccess;
    std::map<std::string, int> calls; // of each function; only when a test asks for errors
    std::map<hipError_t, std::string> texts = {}; // of errors that came with a message
};

Errors& errors()
{
    static Errors* only = new Errors; // functions are called while the process ends
    return *only;
}

struct Known
{
    hipError_t error;
    const char *name, *text;
};

constexpr Known known[] = {
    {hipSuccess, "hipSuccess", "no error"},
    {hipErrorInvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {hipErrorOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {hipErrorInvalidConfiguration,
     "hipErrorInvalidConfiguration",
     "invalid configuration argument"},
    {hipErrorInvalidSymbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {hipErrorInvalidMemcpyDirection,
     "hipErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {hipErrorInvalidDeviceFunction, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {hipErrorNoDevice, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {hipErrorInvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {hipErrorNoBinaryForGpu,
     "hipErrorNoBinaryForGpu",
     "no kernel image is available for execution"},
    {hipErrorInvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {hipErrorFileNotFound, "hipErrorFileNotFound", "file not found"},
    {hipErrorNotFound, "hipErrorNotFound", "named symbol not found"},
    {hipErrorInvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {hipErrorNotReady, "hipErrorNotReady", "device not ready"},
    {hipErrorIllegalAddress, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {hipErrorLaunchTimeOut, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
    {hipErrorLaunchFailure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {hipErrorNotSupported, "hipErrorNotSupported", "operation not supported"},
};

const Known* find(hipError_t error)
{
    for(const Known& entry : known)
        if(entry.error == error) return &entry;
    return nullptr;
}

bool ends_device(hipError_t error)
{
    return error == hipErrorIllegalAddress || error == hipErrorLaunchFailure ||
           error == hipErrorLaunchTimeOut;
}

// FUNCTION:CALL:CODE, calls counted from 1.
hipError_t injected(const std::string& wanted, const char* function, int call)
{
    char name[64] = "", code[16] = "";
    int at         = 0;
    const bool now = std::sscanf(wanted.c_str(), "%63[^:]:%d:%15s", name, &at, code) == 3 &&
                     call == at && std::string(name) == function;
    if(now && std::string(code) == "abort") abort_process(Fault::memory);
    return now ? static_cast<hipError_t>(std::atoi(code)) : hipSuccess;
}

} // namespace

hipError_t enter(const char* function)
{
    Errors& all = errors();
    const std::lock_guard lock(all.mutex);
    try
    {
        if(const std::string& wanted = device().options().failure; !wanted.empty())
            if(const hipError_t error = injected(wanted, function, ++all.calls[function]);
               error != hipSuccess)
            {
                if(ends_device(error)) all.sticky = error;
                return all.last = error;
            }
    }
    catch(const std::exception& error)
    {
        all.texts[hipErrorNoDevice] = error.what();
        return all.last             = hipErrorNoDevice;
    }
    if(all.sticky != hipSuccess) all.last = all.sticky;
    return all.sticky;
}

hipError_t remember(hipError_t error, const std::string& message)
{
    if(error == hipSuccess) return error;
    Errors& all = errors();
    const std::lock_guard lock(all.mutex);
    if(message.empty())
        all.texts.erase(error);
    else
        all.texts[error] = message;
    return all.last = error;
}

hipError_t device_lost(hipError_t error, const std::string& message)
{
    std::fprintf(stderr, "emulated device: %s\n", message.c_str());
    {
        Errors& all = errors();
        const std::lock_guard lock(all.mutex);
        all.sticky = error;
    }
    return remember(error, message);
}

} // namespace ckprof::emulator

using namespace ckprof::emulator;

hipError_t hipGetLastError()
{
    (void)enter(__func__);
    const std::lock_guard lock(errors().mutex);
    return std::exchange(errors().last, errors().sticky);
}

hipError_t hipPeekAtLastError()
{
    const std::lock_guard lock(errors().mutex);
    return errors().last;
}

// With the message of the device, if the error came with one.
const char* hipGetErrorString(hipError_t error)
{
    static thread_local std::string text;
    const Known* entry = find(error);
    text               = entry != nullptr ? entry->text : "unrecognized error code";
    const std::lock_guard lock(errors().mutex);
    if(const auto found = errors().texts.find(error); found != errors().texts.end())
        text += ": " + found->second;
    return text.c_str();
}

const char* hipGetErrorName(hipError_t error)
{
    const Known* entry = find(error);
    return entry != nullptr ? entry->name : "hipErrorUnknown";
}
