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
    const char* name;  // as in an instance string
    int stages;        // of shared memory in engine M, before the capacity bounds them
    int hopper_stages; // the same in engine W, of 64 elements of K each
    bool turns;        // engine W: consumers take turns with tiles of their own
};

// One stage means that loading and computing alternate.
inline constexpr pipeline_plan pipeline_plans[] = {
    {"BASIC_V1", 1, 2, false},
    {"BASIC_ASYNC_V1", 2, 3, false},
    {"BASIC_V2", 2, 3, false},
    {"COMPUTE_V3", 3, 4, false},
    {"COMPUTE_V4", 4, 6, true},
    {"COMPUTE_V5", 4, 6, true},
    {"COMPUTE_V6", 4, 6, false},
    {"COMPUTE_ASYNC", 3, 4, false},
    {"COMPUTE_TDM_V1", 3, 4, false},
    {"COMPUTE_TDM_V2", 3, 4, false},
    {"WAVELET", 3, 4, false},
    {"MEMORY", 8, 8, false},
};

constexpr pipeline_plan find_pipeline_plan(const char* pipeline_name)
{
    for(const pipeline_plan& plan : pipeline_plans)
    {
        if(same_text(plan.name, pipeline_name)) { return plan; }
    }
    return {pipeline_name, 2, 3, false};
}

} // namespace ck_tile::cuda_model
