// SPDX-License-Identifier: MIT
// How launchers turn the number of K blocks into template arguments: is there a hot loop, and how
// does the loop end.
#pragma once

#include <stdexcept>

#include "ck_tile/core/numeric/integral_constant.hpp"
#include "ck_tile/ops/gemm/pipeline/gemm_pipeline_scheduler.hpp"

namespace ck_tile::host_model {

template <TailNumber Tail>
using tail_constant = integral_constant<TailNumber, Tail>;

// Calls run(hot, tail) with both as constants; the tail must be one of those listed.
template <bool Hot, TailNumber First, TailNumber... Others, typename Run>
auto dispatch_tail(const Run& run, TailNumber tail)
{
    if(tail == First) { return run(bool_constant<Hot>{}, tail_constant<First>{}); }
    if constexpr(sizeof...(Others) > 0) { return dispatch_tail<Hot, Others...>(run, tail); }
    throw std::runtime_error("this pipeline does not have that loop tail");
}

// The base of pipelines whose loop ends in one of two ways, by the parity of the K blocks.
template <index_t Stages, TailNumber IfOdd, TailNumber IfEven>
struct alternating_tails
{
    static constexpr index_t PrefetchStages = Stages;

    static constexpr bool BlockHasHotloop(index_t num_loop) { return num_loop > PrefetchStages; }

    static constexpr TailNumber GetBlockLoopTailNum(index_t num_loop)
    { return num_loop % 2 == 1 ? IfOdd : IfEven; }

    template <typename Run>
    static auto TailHandler(const Run& run, bool has_hot_loop, TailNumber tail)
    {
        return has_hot_loop ? dispatch_tail<true, IfOdd, IfEven>(run, tail)
                            : dispatch_tail<false, IfOdd, IfEven>(run, tail);
    }
};

} // namespace ck_tile::host_model
