// SPDX-License-Identifier: MIT
// What an NVIDIA GPU offers to the worker process: memory, copies, caches, the choice of the
// device, and the AMD device whose conditions the kernels answer for.
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include <cuda_runtime.h>

#define CKPROF_RUNTIME(name) cuda##name
#include "ck_tile/host_model/device.hpp"
#include "ckprof_device_api.hpp"
#include "ckprof_device_target.hpp"

// Compute capability that device code was compiled for, times ten.
#if !defined(CKPROF_CUDA_CAPABILITY)
#define CKPROF_CUDA_CAPABILITY 90
#endif

namespace {

struct api : ckprof::device_api
{ static constexpr const char* vendor = "NVIDIA"; };

using ckprof::device_target::copy_text;
using ckprof::device_target::reject;
using device = ckprof::device_target::functions<api>;

ckprof_status use_device(const std::string& arch, int index, char* reason, size_t reason_size)
{
    if(!ck_tile::host_model::set_device(arch))
        return reject("'" + arch + "' is not modelled; known are " +
                          ck_tile::host_model::device_names(),
                      reason,
                      reason_size);
    if(const auto status = device::check_index(index, reason, reason_size); status != CKPROF_OK)
        return status;
    int major = 0, minor = 0;
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index);
    (void)cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index);
    if(major * 10 + minor != CKPROF_CUDA_CAPABILITY)
        return reject("device " + std::to_string(index) + " has compute capability " +
                          std::to_string(major) + "." + std::to_string(minor) +
                          ", the kernels were built for " +
                          std::to_string(CKPROF_CUDA_CAPABILITY / 10) + "." +
                          std::to_string(CKPROF_CUDA_CAPABILITY % 10),
                      reason,
                      reason_size);
    return device::use(index, reason, reason_size);
}

ckprof_status
select_device(const char* arch, int32_t index, char* reason, size_t reason_size) noexcept
{
    try
    {
        return use_device(arch == nullptr ? "" : arch, index, reason, reason_size);
    }
    catch(const std::exception& error)
    {
        copy_text(error.what(), reason, reason_size);
        return CKPROF_FAILED;
    }
}

bool properties_of(cudaDeviceProp& properties) noexcept
{
    int index = 0;
    return device::noted(cudaGetDevice(&index)) == cudaSuccess &&
           device::noted(cudaGetDeviceProperties(&properties, index)) == cudaSuccess;
}

void describe_device(char* text, size_t text_size) noexcept
{
    int driver = 0, runtime = 0;
    cudaDeviceProp properties{};
    if(!properties_of(properties)) return copy_text("unknown GPU", text, text_size);
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    const auto& model = ck_tile::host_model::current_device();
    if(text != nullptr && text_size != 0)
        std::snprintf(text,
                      text_size,
                      "%s (compute capability %d.%d), %d multiprocessors, %zu MiB, CUDA %d.%d on a "
                      "driver for %d.%d; support as on %s with %d compute units",
                      properties.name,
                      properties.major,
                      properties.minor,
                      properties.multiProcessorCount,
                      properties.totalGlobalMem >> 20,
                      runtime / 1000,
                      runtime % 1000 / 10,
                      driver / 1000,
                      driver % 1000 / 10,
                      model.name.c_str(),
                      model.compute_units);
}

// The kernel module's version, e.g. 580.159.04: the first word of its description that is one.
// Where it cannot be read, the version of CUDA that the driver is for.
std::string driver_version()
{
    std::ifstream description("/proc/driver/nvidia/version");
    for(std::string word; description >> word;)
        if(std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
           word.find('.') != std::string::npos)
            return word;
    int version = 0;
    if(cudaDriverGetVersion(&version) != cudaSuccess) return "";
    return "cuda-" + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

ckprof_status identify_device(ckprof_device* found) noexcept
{
    try
    {
        cudaDeviceProp properties{};
        if(!properties_of(properties)) return CKPROF_FAILED;
        const std::string model = std::string(properties.name) + ", compute capability " +
                                  std::to_string(properties.major) + "." +
                                  std::to_string(properties.minor);
        copy_text(model.c_str(), found->model, sizeof(found->model));
        copy_text(driver_version().c_str(), found->driver, sizeof(found->driver));
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
    ckprof::device_target::table<api>("cuda", &select_device, &describe_device, &identify_device);

} // namespace

extern "C" const ckprof_target* ckprof_target_table(void) { return &table; }
