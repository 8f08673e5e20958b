// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include "ck_tile/host_model/device.hpp"

namespace ck_tile::host_model {

namespace impl {

struct known_device
{
    const char* name;
    int compute_units;
    int lanes;
    int lds_bytes;
    int max_waves_per_cu;
};

inline constexpr known_device known_devices[] = {
    {"gfx908", 120, 64, 65536, 40},
    {"gfx90a", 104, 64, 65536, 32},
    {"gfx942", 304, 64, 65536, 32},
    {"gfx950", 256, 64, 163840, 32},
    {"gfx1201", 64, 32, 65536, 64},
};

inline device_model model_of(const known_device& device)
{
    return {
        device.name, device.compute_units, device.lanes, device.lds_bytes, device.max_waves_per_cu};
}

inline device_model& device_slot()
{
    static device_model device = model_of(known_devices[3]);
    return device;
}

inline std::atomic<int>& wanted_workers()
{
    static std::atomic<int> count{0};
    return count;
}

inline int allowed_cpus()
{
#if defined(__linux__)
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if(sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
    {
        const int count = CPU_COUNT(&allowed);
        if(count > 0) { return count; }
    }
#endif
    const unsigned count = std::thread::hardware_concurrency();
    return count == 0 ? 1 : static_cast<int>(count);
}

} // namespace impl

CK_TILE_HOST_MODEL_API const device_model& current_device() { return impl::device_slot(); }

CK_TILE_HOST_MODEL_API bool set_device(const std::string& name)
{
    const std::string base = name.substr(0, name.find(':'));
    for(const impl::known_device& device : impl::known_devices)
    {
        if(base == device.name)
        {
            impl::device_slot() = impl::model_of(device);
            return true;
        }
    }
    return false;
}

CK_TILE_HOST_MODEL_API void set_compute_units(int count)
{ impl::device_slot().compute_units = count < 1 ? 1 : count; }

CK_TILE_HOST_MODEL_API int worker_count()
{
    const int wanted = impl::wanted_workers().load();
    return wanted > 0 ? wanted : impl::allowed_cpus();
}

CK_TILE_HOST_MODEL_API void set_worker_count(int count)
{ impl::wanted_workers().store(count < 0 ? 0 : count); }

} // namespace ck_tile::host_model
