// SPDX-License-Identifier: MIT
// What a GPU offers to the worker process: memory, copies, caches, the choice of the device.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include <hip/hip_runtime.h>

#define CKPROF_RUNTIME(name) hip##name
#include "ckprof_device_api.hpp"
#include "ckprof_device_target.hpp"

namespace {

struct api : ckprof::device_api
{ static constexpr const char* vendor = "AMD"; };

using ckprof::device_target::copy_text;
using ckprof::device_target::reject;
using device = ckprof::device_target::functions<api>;

// A name is followed by its features: gfx942:sramecc+:xnack-. The kernels' own features are the
// loader's business.
bool same_architecture(const char* found, const char* wanted) noexcept
{
    const size_t length = std::strcspn(wanted, ":");
    return std::strcspn(found, ":") == length && std::strncmp(found, wanted, length) == 0;
}

ckprof_status
select_device(const char* arch, int32_t index, char* reason, size_t reason_size) noexcept
{
    try
    {
        if(const auto status = device::check_index(index, reason, reason_size); status != CKPROF_OK)
            return status;
        hipDeviceProp_t properties{};
        if(const hipError_t error = hipGetDeviceProperties(&properties, index); error != hipSuccess)
            return reject(hipGetErrorString(error), reason, reason_size);
        if(arch != nullptr && *arch != '\0' && !same_architecture(properties.gcnArchName, arch))
            return reject("device " + std::to_string(index) + " is " + properties.gcnArchName +
                              ", the kernels were built for " + arch,
                          reason,
                          reason_size);
        return device::use(index, reason, reason_size);
    }
    catch(...)
    {
        copy_text("out of memory", reason, reason_size);
        return CKPROF_FAILED;
    }
}

bool properties_of(hipDeviceProp_t& properties) noexcept
{
    int index = 0;
    return device::noted(hipGetDevice(&index)) == hipSuccess &&
           device::noted(hipGetDeviceProperties(&properties, index)) == hipSuccess;
}

void describe_device(char* text, size_t text_size) noexcept
{
    hipDeviceProp_t properties{};
    if(!properties_of(properties)) return copy_text("unknown GPU", text, text_size);
    if(text != nullptr && text_size != 0)
        std::snprintf(text,
                      text_size,
                      "%s (%s), %d compute units at %d MHz, %zu MiB",
                      properties.name,
                      properties.gcnArchName,
                      properties.multiProcessorCount,
                      properties.clockRate / 1000,
                      properties.totalGlobalMem >> 20);
}

// Compute units and memory tell partition modes apart.
ckprof_status identify_device(ckprof_device* found) noexcept
{
    try
    {
        hipDeviceProp_t properties{};
        if(!properties_of(properties)) return CKPROF_FAILED;
        const std::string model = std::string(properties.name) + ", " + properties.gcnArchName;
        copy_text(model.c_str(), found->model, sizeof(found->model));
        int version = 0;
        if(device::noted(hipDriverGetVersion(&version)) == hipSuccess)
        {
            const std::string driver = std::to_string(version / 10'000'000) + "." +
                                       std::to_string(version / 100'000 % 100);
            copy_text(driver.c_str(), found->driver, sizeof(found->driver));
        }
        found->memory_bytes  = properties.totalGlobalMem;
        found->compute_units = static_cast<uint32_t>(properties.multiProcessorCount);
        found->event_clock   = 1;
        return CKPROF_OK;
    }
    catch(...)
    {
        return CKPROF_FAILED;
    }
}

constexpr ckprof_target table =
    ckprof::device_target::table<api>("hip", &select_device, &describe_device, &identify_device);

} // namespace

extern "C" const ckprof_target* ckprof_target_table(void) { return &table; }
