// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include "ck_tile/host_model/device.hpp"
#include "ck_tile/host_model/device_table.hpp"

namespace ck_tile::host_model {

namespace impl {

inline bool lists(const std::string& capabilities, const std::string& wanted)
{ return (" " + capabilities).find(" " + wanted + " ") != std::string::npos; }

inline device_model model_of(const device_record& device)
{
    return {device.name,
            device.compute_units,
            device.lanes,
            device.lds_bytes,
            device.max_waves_per_cu,
            device.capabilities};
}

inline device_model& device_slot()
{
    static device_model device = model_of(known_devices.records[known_devices.initial]);
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
    for(int index = 0; index < known_devices.count; ++index)
    {
        const device_record& device = known_devices.records[index];
        if(base == device.name)
        {
            impl::device_slot() = impl::model_of(device);
            return true;
        }
    }
    return false;
}

CK_TILE_HOST_MODEL_API bool device_model::has(const std::string& capability) const
{ return impl::lists(capabilities, capability); }

CK_TILE_HOST_MODEL_API std::string device_names(const std::string& capability)
{
    std::string names;
    for(int index = 0; index < known_devices.count; ++index)
    {
        const device_record& device = known_devices.records[index];
        if(!capability.empty() && !impl::lists(device.capabilities, capability)) { continue; }
        names += (names.empty() ? "" : ", ") + std::string(device.name);
    }
    return names;
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
