// SPDX-License-Identifier: MIT
// What an instance's GEMM pipeline means on this device: the table of how pipelines differ.
#pragma once

namespace ck_tile::cuda_model {

constexpr bool same_text(const char* a, const char* b)
{
    while(*a != '\0' && *a == *b)
    {
        ++a;
        ++b;
    }
    return *a == *b;
}

struct pipeline_plan
{
    const char* name; // as in an instance string
    int stages;       // of shared memory, before the capacity bounds them
};

// One stage means that loading and computing alternate.
inline constexpr pipeline_plan pipeline_plans[] = {
    {"BASIC_V1", 1},
    {"BASIC_ASYNC_V1", 2},
    {"BASIC_V2", 2},
    {"COMPUTE_V3", 3},
    {"COMPUTE_V4", 4},
    {"COMPUTE_V5", 4},
    {"COMPUTE_V6", 4},
    {"COMPUTE_ASYNC", 3},
    {"WAVELET", 3},
    {"MEMORY", 8},
};

constexpr int wanted_stages(const char* pipeline_name)
{
    for(const pipeline_plan& plan : pipeline_plans)
    {
        if(same_text(plan.name, pipeline_name)) { return plan.stages; }
    }
    return 2;
}

} // namespace ck_tile::cuda_model
