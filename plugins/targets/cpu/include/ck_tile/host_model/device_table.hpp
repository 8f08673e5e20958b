// SPDX-License-Identifier: MIT
// The GPUs that the model can answer for. The table is generated from ckprof's records of
// architectures (device_table.cpp beside a library's other sources), and linked like the runtime.
#pragma once

namespace ck_tile::host_model {

struct device_record
{
    const char* name;         // gcnArchName without feature suffixes
    int compute_units;        // multiProcessorCount
    int lanes;                // threads per wave
    int lds_bytes;            // local memory per workgroup
    int max_waves_per_cu;     // bound of the occupancy estimate
    const char* capabilities; // names in alphabetical order, each followed by a space
};

struct device_table
{
    const device_record* records;
    int count;
    int initial; // the one that is modelled until set_device() is called
};

extern const device_table known_devices;

} // namespace ck_tile::host_model
