// SPDX-License-Identifier: MIT
// At this level the size of a block is a template argument of a launch.
#pragma once

#include_next "ck_tile/host/kernel_launch.hpp"

namespace ck_tile {

template <int MaxThreadPerBlock, int MinBlockPerCu, typename Kernel, typename... Args>
host_model::grid_launch<Kernel, Args...>
make_kernel(Kernel kernel, dim3 grid, dim3 /*block*/, std::size_t /*lds_bytes*/, Args... args)
{ return {kernel, grid, args...}; }

} // namespace ck_tile
