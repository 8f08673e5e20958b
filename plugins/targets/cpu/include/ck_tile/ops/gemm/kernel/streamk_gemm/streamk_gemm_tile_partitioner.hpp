// SPDX-License-Identifier: MIT
// The partitioner of stream-K kernels.
#pragma once

#include <cstdint>

#include "ck_tile/core/numeric/integer.hpp"
#include "ck_tile/core/numeric/math.hpp"
#include "ck_tile/host_model/stream_k.hpp"

namespace ck_tile {

// How the workgroups that share a tile combine their parts.
enum class StreamKReductionStrategy : std::uint32_t
{
    Atomic = 0u,
    Linear = 1u,
    Tree   = 2u
};

template <typename BlockGemmShape_,
          StreamKReductionStrategy ReductionStrategy_ = StreamKReductionStrategy::Tree,
          bool Persistent_                            = false>
struct StreamKTilePartitioner
{
    using BlockGemmShape = BlockGemmShape_;

    static_assert(ReductionStrategy_ != StreamKReductionStrategy::Atomic,
                  "the atomic reduction is not modelled");

    static constexpr index_t MPerBlock = BlockGemmShape::kM;
    static constexpr index_t NPerBlock = BlockGemmShape::kN;
    static constexpr index_t KPerBlock = BlockGemmShape::kK;
    static constexpr bool PERSISTENT   = Persistent_;

    static constexpr StreamKReductionStrategy ReductionStrategy = ReductionStrategy_;

    // m, n, k in elements, the rows of all GEMMs of the batch together.
    constexpr StreamKTilePartitioner(index_t m, index_t n, index_t k, index_t max_workgroups)
        : plan_(host_model::make_stream_k_plan(integer_divide_ceil(m, MPerBlock),
                                               integer_divide_ceil(n, NPerBlock),
                                               integer_divide_ceil(k, KPerBlock),
                                               max_workgroups))
    {}

    static constexpr index_t GetLoopNum(index_t K) { return integer_divide_ceil(K, KPerBlock); }

    // Blocks along x. Persistent workgroups are as many as the device holds, except in the
    // data-parallel fallback whose tiles do not divide evenly.
    static constexpr std::int64_t GridSize(const host_model::stream_k_plan& plan)
    {
        if constexpr(PERSISTENT)
        {
            return plan.dp_tiles % plan.workgroups != 0 ? plan.tiles : plan.workgroups;
        }
        else
        {
            return plan.dp_tiles + plan.sk_ctas;
        }
    }

    constexpr const host_model::stream_k_plan& plan() const { return plan_; }

    constexpr index_t get_workspace_size(index_t acc_bytes) const
    {
        return plan_.sk_ctas == 0
                   ? 0
                   : static_cast<index_t>(plan_.flag_bytes() +
                                          plan_.sk_ctas * MPerBlock * NPerBlock * acc_bytes);
    }

private:
    host_model::stream_k_plan plan_;
};

} // namespace ck_tile
