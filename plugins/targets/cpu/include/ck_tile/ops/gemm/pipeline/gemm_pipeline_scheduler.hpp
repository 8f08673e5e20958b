// SPDX-License-Identifier: MIT
// Names of schedulers, pipelines and loop tails.
#pragma once

namespace ck_tile {

enum struct GemmPipelineScheduler
{
    Default,
    Intrawave,
    Interwave
};

constexpr const char* scheduler_name(GemmPipelineScheduler scheduler)
{
    switch(scheduler)
    {
    case GemmPipelineScheduler::Intrawave: return "Intrawave";
    case GemmPipelineScheduler::Interwave: return "Interwave";
    case GemmPipelineScheduler::Default: break;
    }
    return "Default";
}

enum struct GemmPipeline
{
    COMPUTE_ASYNC,
    COMPUTE_V3,
    COMPUTE_V4,
    COMPUTE_V5,
    COMPUTE_V6,
    MEMORY,
    BASIC_V1,
    BASIC_V2,
    BASIC_ASYNC_V1,
    PRESHUFFLE_V2,
    WAVELET,
    COMPUTE_TDM_V1,
    COMPUTE_TDM_V2
};

// What is left of the K loop after the hot part.
enum struct TailNumber
{
    Odd,
    Even,
    One,
    Two,
    Three,
    Four,
    Five,
    Six,
    Seven,
    Empty,
    Full
};

} // namespace ck_tile
