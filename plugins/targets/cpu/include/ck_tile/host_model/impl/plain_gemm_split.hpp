// SPDX-License-Identifier: MIT
// Which part of K a block of a plain GEMM kernel sums over.
#pragma once

#include <cstdint>

#include "ck_tile/host_model/k_split.hpp"
#include "ck_tile/host_model/plain_gemm.hpp"

namespace ck_tile::host_model::impl {

// What K part `part` of k_batch covers.
inline k_range
split_k(const plain_gemm_facts& facts, const plain_gemm_call& call, std::int64_t part)
{
    return facts.deals_steps ? split_k_steps(call.k, call.k_batch, facts.k_mma, part)
                             : split_k_reads(call.k, call.k_batch, facts.k_mma, part);
}

} // namespace ck_tile::host_model::impl
