// SPDX-License-Identifier: MIT
// The pipeline for memory-bound shapes: as many prefetch stages as the bandwidth wants.
#pragma once

#include "ck_tile/core/numeric/math.hpp"
#include "ck_tile/host_model/pipeline_model.hpp"

namespace ck_tile::host_model {

struct mem_description
{ static constexpr pipeline_facts facts{.name = "MEMORY", .class_name = "AgBgCrMem"}; };

} // namespace ck_tile::host_model

namespace ck_tile {

template <typename Problem>
struct BaseGemmPipelineAgBgCrMem
{
private:
    // 32 KiB in flight per compute unit saturate the memory; resident workgroups share that.
    static constexpr index_t bytes_in_flight = 32768;
    static constexpr index_t workgroups_per_cu =
        256 / Problem::kBlockSize > 1 ? 256 / Problem::kBlockSize : 1;
    static constexpr index_t bytes_per_stage =
        (Problem::BlockGemmShape::kM * static_cast<index_t>(sizeof(typename Problem::ADataType)) +
         Problem::BlockGemmShape::kN * static_cast<index_t>(sizeof(typename Problem::BDataType))) *
        Problem::BlockGemmShape::kK;
    static constexpr index_t wanted_stages =
        integer_divide_ceil(bytes_in_flight / workgroups_per_cu, bytes_per_stage);

public:
    static constexpr index_t PrefetchStages =
        wanted_stages < 2 ? 2 : (wanted_stages > 8 ? 8 : wanted_stages);

    static constexpr bool BlockHasHotloop(index_t num_loop) { return num_loop > PrefetchStages; }

    static constexpr TailNumber GetBlockLoopTailNum(index_t num_loop)
    {
        using enum TailNumber;
        constexpr TailNumber tails[] = {Full, One, Two, Three, Four, Five, Six, Seven};
        return tails[num_loop % PrefetchStages];
    }

    template <typename Run>
    static auto TailHandler(const Run& run, bool has_hot_loop, TailNumber tail)
    { return has_hot_loop ? dispatch<true>(run, tail) : dispatch<false>(run, tail); }

private:
    // Only the tails that this number of stages can leave are instantiated.
    template <bool Hot, typename Run>
    static auto dispatch(const Run& run, TailNumber tail)
    {
        using enum TailNumber;
        using host_model::dispatch_tail;
        if constexpr(PrefetchStages == 2) { return dispatch_tail<Hot, Full, One>(run, tail); }
        else if constexpr(PrefetchStages == 3)
        {
            return dispatch_tail<Hot, Full, One, Two>(run, tail);
        }
        else if constexpr(PrefetchStages == 4)
        {
            return dispatch_tail<Hot, Full, One, Two, Three>(run, tail);
        }
        else if constexpr(PrefetchStages == 5)
        {
            return dispatch_tail<Hot, Full, One, Two, Three, Four>(run, tail);
        }
        else if constexpr(PrefetchStages == 6)
        {
            return dispatch_tail<Hot, Full, One, Two, Three, Four, Five>(run, tail);
        }
        else if constexpr(PrefetchStages == 7)
        {
            return dispatch_tail<Hot, Full, One, Two, Three, Four, Five, Six>(run, tail);
        }
        else
        {
            return dispatch_tail<Hot, Full, One, Two, Three, Four, Five, Six, Seven>(run, tail);
        }
    }
};

struct GemmPipelineAgBgCrMemDefaultPolicy;

template <typename Problem, typename Policy = GemmPipelineAgBgCrMemDefaultPolicy>
struct GemmPipelineAgBgCrMem : BaseGemmPipelineAgBgCrMem<Problem>,
                               host_model::pipeline_model<Problem, host_model::mem_description>
{};

} // namespace ck_tile
