// SPDX-License-Identifier: MIT
// From the template arguments of a kernel of July 2025 to kernel_facts.
#pragma once

#include "ck_tile/host_model/make_kernel_facts.hpp"

namespace ck_tile::host_model {

// The traits do not hold what the general function looks for there.
template <typename Traits, index_t A, index_t B, index_t C>
struct complete_traits : Traits
{
    static constexpr index_t VectorSizeA   = A;
    static constexpr index_t VectorSizeB   = B;
    static constexpr index_t VectorSizeC   = C;
    static constexpr bool EnableSplitImage = false;
    static constexpr bool ExplicitGemm     = false;
};

template <direction Direction,
          typename ConvTraits,
          typename TilePartitioner,
          typename Pipeline,
          typename Epilogue>
constexpr kernel_facts make_level_facts()
{
    using traits = complete_traits<ConvTraits,
                                   Pipeline::GetVectorSizeA(),
                                   Pipeline::GetVectorSizeB(),
                                   Epilogue::GetVectorSizeC()>;
    return make_kernel_facts<Direction, traits, TilePartitioner, Pipeline, Epilogue>();
}

} // namespace ck_tile::host_model
