// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ck_tile/host_model/sampling.hpp"

namespace ck_tile::host_model::impl {

// Numbers of the blocks at the chosen places of a grid; none where all are executed.
inline std::vector<std::uint64_t> chosen_blocks(std::uint64_t blocks)
{
    std::vector<std::uint64_t> chosen;
    if(blocks == 0) { return chosen; }
    for(const double place : current_sampling().places)
    {
        chosen.push_back(static_cast<std::uint64_t>(place * static_cast<double>(blocks - 1)));
    }
    std::ranges::sort(chosen);
    chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
    return chosen;
}

} // namespace ck_tile::host_model::impl
