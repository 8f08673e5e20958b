// SPDX-License-Identifier: MIT
// Launches of the host model's kernels by the fake HIP runtime, timed by its events, as CK Tile's
// launcher does it on a GPU.
#pragma once

#include <cstddef>
#include <tuple>

#include "ck_tile/core/utility/hip_check_error.hpp"
#include "ck_tile/host/stream_config.hpp"
#include "ck_tile/host_model/device.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "fake_launch.hpp"

namespace ck_tile {

namespace host_model {

// Of the device, which executes one block after the other.
inline constexpr double fake_block_us = 10;

// A kernel, its arguments and its grid; calling it queues the execution of every block.
template <typename Kernel, typename Args>
class grid_launch
{
public:
    grid_launch(const Kernel& kernel, const dim3& grid, const Args& args)
        : grid_(grid),
          call_(kernel, args)
    {}

    void operator()(const stream_config&) const
    {
        const double blocks = static_cast<double>(grid_.x) * grid_.y * grid_.z;
        hip_check_error(
            fake_launch([grid = grid_, call = call_] { run_grid(grid, &run_block, &call); },
                        {},
                        fake_block_us * blocks));
        hip_check_error(hipGetLastError());
    }

private:
    using call = std::tuple<Kernel, Args>;

    static void run_block(const void* context, const block_position& block)
    {
        const auto& [kernel, args] = *static_cast<const call*>(context);
        kernel(block, args);
    }

    dim3 grid_;
    call call_;
};

} // namespace host_model

template <int MinBlocksPerCU = 2, typename Attribute = void, typename Kernel, typename Args>
host_model::grid_launch<Kernel, Args>
make_kernel(Kernel kernel, dim3 grid, dim3 /*block*/, std::size_t /*lds_bytes*/, Args args)
{ return {kernel, grid, args}; }

// A round is preprocess and all callables. Without timing: one, which nobody waits for.
template <typename Preprocess, typename... Callables>
float launch_kernel_time_mask(const stream_config& s,
                              Preprocess preprocess,
                              const Callables&... callables)
{
    const auto rounds = [&](int count) {
        for(int i = 0; i < count; ++i)
        {
            preprocess();
            (callables(s), ...);
        }
    };
    if(!s.time_kernel_)
    {
        rounds(1);
        return 0;
    }
    hipEvent_t start, stop;
    hip_check_error(hipEventCreate(&start));
    hip_check_error(hipEventCreate(&stop));
    rounds(s.cold_niters_);
    hip_check_error(hipEventRecord(start, s.stream_id_));
    rounds(s.nrepeat_);
    hip_check_error(hipEventRecord(stop, s.stream_id_));
    hip_check_error(hipEventSynchronize(stop));
    float milliseconds = 0;
    hip_check_error(hipEventElapsedTime(&milliseconds, start, stop));
    hip_check_error(hipEventDestroy(start));
    hip_check_error(hipEventDestroy(stop));
    return milliseconds / static_cast<float>(s.nrepeat_);
}

template <typename... Callables>
float launch_kernel(const stream_config& s, const Callables&... callables)
{
    return launch_kernel_time_mask(s, [] {}, callables...);
}

} // namespace ck_tile
