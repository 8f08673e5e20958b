// SPDX-License-Identifier: MIT
// Launching and timing of kernels.
#pragma once

#include <chrono>
#include <cstddef>
#include <tuple>
#include <utility>

#include "ck_tile/core/numeric/integer.hpp"
#include "ck_tile/core/utility/hip_check_error.hpp"
#include "ck_tile/host/stream_config.hpp"
#include "ck_tile/host_model/device.hpp"
#include "ck_tile/host_model/grid.hpp"

namespace ck_tile {

namespace host_model {

// A kernel, its arguments and its grid; calling it executes every block.
template <typename Kernel, typename... Args>
class grid_launch
{
public:
    grid_launch(const Kernel& kernel, const dim3& grid, const Args&... args)
        : grid_(grid),
          call_(kernel, args...)
    {}

    // A kernel can have choose_unit(args), which looks at the operands of this launch.
    void operator()(const stream_config&) const
    {
        if constexpr(requires(Args&... args) { Kernel::choose_unit(args...); })
        {
            call chosen = call_;
            std::apply([](const Kernel&, Args&... args) { Kernel::choose_unit(args...); }, chosen);
            run_grid(grid_, &run_block, &chosen);
        }
        else
        {
            run_grid(grid_, &run_block, &call_);
        }
    }

private:
    using call = std::tuple<Kernel, Args...>;

    static void run_block(const void* context, const block_position& block)
    {
        std::apply([&block](const Kernel& kernel, const Args&... args) { kernel(block, args...); },
                   *static_cast<const call*>(context));
    }

    dim3 grid_;
    call call_;
};

} // namespace host_model

// MinBlocksPerCU and the attribute shape register allocation on a GPU and mean nothing here;
// neither do the block size and the dynamic local memory. A kernel is called as kernel(block,
// args...).
template <int MinBlocksPerCU = 2, typename Attribute = void, typename Kernel, typename... Args>
host_model::grid_launch<Kernel, Args...>
make_kernel(Kernel kernel, dim3 grid, dim3 /*block*/, std::size_t /*lds_bytes*/, Args... args)
{ return {kernel, grid, args...}; }

// Without timing: preprocess once, the callables once, returns 0. With timing: cold_niters_
// unmeasured rounds, then nrepeat_ rounds; returns milliseconds per round. A round is preprocess
// and all callables, so zeroing of the result is measured too.
template <typename Preprocess, typename... Callables>
float launch_kernel_time_mask(const stream_config& s,
                              Preprocess preprocess,
                              const Callables&... callables)
{
    const auto round = [&] {
        preprocess();
        (callables(s), ...);
    };
    if(!s.time_kernel_)
    {
        round();
        return 0;
    }
    for(int i = 0; i < s.cold_niters_; ++i) { round(); }
    if(s.nrepeat_ <= 0) { return 0; }
    const auto start = std::chrono::steady_clock::now();
    for(int i = 0; i < s.nrepeat_; ++i) { round(); }
    const std::chrono::duration<float, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    return elapsed.count() / static_cast<float>(s.nrepeat_);
}

template <typename... Callables>
float launch_kernel(const stream_config& s, const Callables&... callables)
{
    return launch_kernel_time_mask(s, [] {}, callables...);
}

} // namespace ck_tile
