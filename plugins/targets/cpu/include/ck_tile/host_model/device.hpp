// SPDX-License-Identifier: MIT
// The GPU that the model answers for, and the CPU threads that do its work.
#pragma once

#include <string>

#include "ck_tile/core/config.hpp"

namespace ck_tile::host_model {

struct device_model
{
    std::string name;          // gcnArchName without feature suffixes
    int compute_units    = 0;  // multiProcessorCount
    int lanes            = 64; // threads per wave
    int lds_bytes        = 0;  // local memory per workgroup
    int max_waves_per_cu = 0;  // bound of the occupancy estimate
    std::string capabilities;  // names, each followed by a space

    // Says whether the device has a capability, by its name in ckprof's record.
    bool has(const std::string& capability) const;
};

// The table's initial device until set_device() is called. Not to be changed while a kernel runs.
CK_TILE_HOST_MODEL_API const device_model& current_device();

// Accepts a gcnArchName such as "gfx942" or "gfx90a:sramecc+:xnack-". Returns false and leaves the
// device as it was if the architecture is not modelled.
CK_TILE_HOST_MODEL_API bool set_device(const std::string& name);

// Names of all devices that can be modelled, or of those with a capability, separated by commas.
CK_TILE_HOST_MODEL_API std::string device_names(const std::string& capability = "");

// Overrides the number of compute units of the current device (as a partitioned GPU would have).
CK_TILE_HOST_MODEL_API void set_compute_units(int count);

// Threads that execute blocks, the launching one included. By default the number of CPUs that the
// affinity mask of the process allows; 0 restores the default.
CK_TILE_HOST_MODEL_API int worker_count();
CK_TILE_HOST_MODEL_API void set_worker_count(int count);

} // namespace ck_tile::host_model
