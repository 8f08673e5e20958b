// SPDX-License-Identifier: MIT
// Launching and timing of kernels on the GPU.
#pragma once

#if defined(__CUDACC__)

#include <cstddef>
#include <tuple>

#include "ck_tile/core/numeric/integer.hpp"
#include "ck_tile/core/utility/hip_check_error.hpp"
#include "ck_tile/cuda_model/launch.hpp"
#include "ck_tile/host/stream_config.hpp"

namespace ck_tile {

namespace cuda_model {

// A kernel and its arguments; calling it starts the kernel.
template <int BlocksPerUnit, typename Kernel, typename... Args>
class grid_launch
{
public:
    explicit grid_launch(const Args&... args) : args_(args...) {}

    void operator()(const stream_config& s) const
    {
        std::apply(
            [&s](const Args&... args) { launch<Kernel, BlocksPerUnit>(s.stream_id_, args...); },
            args_);
        hip_check_error(cudaGetLastError());
    }

private:
    std::tuple<Args...> args_;
};

// The two events of the process that measure a launch.
class stopwatch
{
public:
    static stopwatch& of_process()
    {
        // Never destroyed: the device may be gone by then.
        static stopwatch& only = *new stopwatch;
        return only;
    }

    void start(cudaStream_t stream) { hip_check_error(cudaEventRecord(begin_, stream)); }

    float stop_ms(cudaStream_t stream)
    {
        float elapsed_ms = 0;
        hip_check_error(cudaEventRecord(end_, stream));
        hip_check_error(cudaEventSynchronize(end_));
        hip_check_error(cudaEventElapsedTime(&elapsed_ms, begin_, end_));
        return elapsed_ms;
    }

private:
    stopwatch()
    {
        hip_check_error(cudaEventCreate(&begin_));
        hip_check_error(cudaEventCreate(&end_));
    }

    cudaEvent_t begin_{};
    cudaEvent_t end_{};
};

} // namespace cuda_model

// The grid follows from the kernel's arguments. MinBlocksPerCU becomes resident blocks per
// multiprocessor where the accumulators leave room for them.
template <int MinBlocksPerCU = 2, typename Attribute = void, typename Kernel, typename... Args>
cuda_model::grid_launch<MinBlocksPerCU, Kernel, Args...>
make_kernel(Kernel, dim3 /*grid*/, dim3 /*block*/, std::size_t /*lds_bytes*/, Args... args)
{ return cuda_model::grid_launch<MinBlocksPerCU, Kernel, Args...>(args...); }

// Without timing: preprocess once, the callables once, returns 0. With timing: cold_niters_
// unmeasured rounds, then nrepeat_ rounds; returns milliseconds per round. A round is preprocess
// and all callables, so zeroing of the result is measured too. The host does not wait before the
// first event: work that is still queued hides the launch latency.
template <typename Preprocess, typename... Callables>
float launch_kernel_time_mask(const stream_config& s,
                              Preprocess preprocess,
                              const Callables&... callables)
{
    const auto round = [&] {
        cuda_model::deferred_zeroing::of_thread().begin();
        preprocess();
        cuda_model::deferred_zeroing::of_thread().end();
        (callables(s), ...);
    };
    if(!s.time_kernel_)
    {
        round();
        return 0;
    }
    for(int i = 0; i < s.cold_niters_; ++i) { round(); }
    if(s.nrepeat_ <= 0) { return 0; }
    cuda_model::stopwatch& watch = cuda_model::stopwatch::of_process();
    watch.start(s.stream_id_);
    for(int i = 0; i < s.nrepeat_; ++i) { round(); }
    return watch.stop_ms(s.stream_id_) / static_cast<float>(s.nrepeat_);
}

template <typename... Callables>
float launch_kernel(const stream_config& s, const Callables&... callables)
{
    return launch_kernel_time_mask(s, [] {}, callables...);
}

} // namespace ck_tile

#else
#include_next "ck_tile/host/kernel_launch.hpp"
#endif
