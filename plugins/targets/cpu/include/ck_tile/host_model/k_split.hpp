// SPDX-License-Identifier: MIT
// How the depth of a GEMM is dealt out to the parts of split-K.
#pragma once

#include <cstdint>

namespace ck_tile::host_model {

struct k_range
{ std::int64_t begin, end; };

// Every part gets the same number of K tiles; the last ones can be short or empty.
constexpr k_range
split_k_tiles(std::int64_t depth, std::int64_t k_batch, std::int64_t k_per_block, std::int64_t part)
{
    const std::int64_t grain  = k_batch * k_per_block;
    const std::int64_t length = (depth + grain - 1) / grain * k_per_block;
    const std::int64_t begin  = part * length < depth ? part * length : depth;
    return {begin, begin + length < depth ? begin + length : depth};
}

// An explicit GEMM deals out steps of the MMA depth: the first `full` parts get one step more than
// the others, the last part also gets what is left below a whole step.
constexpr k_range
split_k_steps(std::int64_t depth, std::int64_t k_batch, std::int64_t k_mma, std::int64_t part)
{
    const std::int64_t steps   = depth / k_mma;
    const std::int64_t full    = steps % k_batch == 0 ? k_batch : steps % k_batch;
    const std::int64_t rounded = (steps + k_batch - 1) / k_batch;
    const std::int64_t most    = rounded > 1 ? rounded : 1;
    const std::int64_t longer  = part < full ? part : full;
    const std::int64_t shorter = part - longer;
    const std::int64_t begin   = (longer * most + shorter * (most - 1)) * k_mma;
    const std::int64_t end     = begin + (part < full ? most : most - 1) * k_mma;
    return {begin < depth ? begin : depth, part == k_batch - 1 || depth < end ? depth : end};
}

// Every part but the last reads the same number of MMA steps; the last takes what is left, which
// can be nothing (then begin is end or beyond the depth).
constexpr k_range
split_k_reads(std::int64_t depth, std::int64_t k_batch, std::int64_t k_mma, std::int64_t part)
{
    const std::int64_t grain  = k_batch * k_mma;
    const std::int64_t length = (depth + grain - 1) / grain * k_mma;
    const std::int64_t begin  = part * length;
    return {begin, part == k_batch - 1 ? depth : begin + length};
}

} // namespace ck_tile::host_model
