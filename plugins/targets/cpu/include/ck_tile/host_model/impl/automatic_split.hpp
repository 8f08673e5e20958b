// SPDX-License-Identifier: MIT
// The number of parts of the reduction that a backward-weight kernel chooses by itself. Targets
// whose kernels are not CK Tile's have a header of their own in its place.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ck_tile/host_model/backward_weight.hpp"

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API std::int64_t
automatic_k_batch(const kernel_facts& facts, const conv_shape& /*shape*/, const gemm_sizes& gemm)
{
    const std::int64_t tiles = (gemm.m + facts.m_per_block - 1) / facts.m_per_block *
                               ((gemm.n + facts.n_per_block - 1) / facts.n_per_block) * gemm.batch;
    const std::int64_t slots =
        std::int64_t{estimated_occupancy(facts)} * current_device().compute_units;
    return std::min(std::max<std::int64_t>(slots / tiles, 1), gemm.k);
}

} // namespace ck_tile::host_model
