// SPDX-License-Identifier: MIT
// The pipeline whose extra waves only load while the others multiply.
#pragma once

#include "ck_tile/host_model/pipeline_model.hpp"

namespace ck_tile::host_model {

template <index_t NumLoadWaves>
struct wavelet_description
{
    static constexpr pipeline_facts facts{
        .name = "WAVELET", .class_name = "AgBgCrWavelet", .load_waves = NumLoadWaves};
};

} // namespace ck_tile::host_model

namespace ck_tile {

struct GemmPipelineAgBgCrWaveletDefaultPolicy;

// There is no tail dispatch: launchers pass the run-time values of the two functions below on.
template <typename Problem,
          typename Policy       = GemmPipelineAgBgCrWaveletDefaultPolicy,
          index_t NumLoadWaves_ = 4>
struct GemmPipelineAgBgCrWavelet
    : host_model::pipeline_model<Problem, host_model::wavelet_description<NumLoadWaves_>>
{
    static constexpr index_t PrefetchStages = 2;

    static constexpr bool BlockHasHotloop(index_t num_loop) { return num_loop > PrefetchStages; }

    static constexpr TailNumber GetBlockLoopTailNum(index_t num_loop)
    { return num_loop % 2 == 1 ? TailNumber::Odd : TailNumber::Even; }
};

} // namespace ck_tile
