// SPDX-License-Identifier: MIT
// The one place where kernels are started, and how many blocks of them the device can run.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "ck_tile/core/utility/hip_check_error.hpp"
#include "ck_tile/cuda_model/deferred_zeroing.hpp"
#include "ck_tile/host_model/rejection.hpp"

namespace ck_tile::cuda_model::impl {

// With CKPROF_CUDA_OWN_CODE every instance has machine code under its own name, to be read;
// otherwise instances that differ only in fields without meaning here share theirs. The name holds
// the shared memory that a block is started with, which the machine code does not say.
#if defined(CKPROF_CUDA_OWN_CODE)
template <int SharedBytes, typename Kernel>
struct own_code
{};
template <typename Kernel, int SharedBytes>
using kernel_tag = own_code<SharedBytes, Kernel>;
#else
template <typename, int>
using kernel_tag = void;
#endif

// Bytes that a block of the device can have.
inline int most_shared_memory()
{
    int device = 0, most = 0;
    hip_check_error(cudaGetDevice(&device));
    hip_check_error(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    return most;
}

// Throws host_model::rejected_launch if no block of the device can have that many bytes.
inline void check_shared_memory(int bytes)
{
    const int most = most_shared_memory();
    if(bytes > most)
    {
        throw host_model::rejected_launch(
            "device-shared-memory",
            "the tile needs " + std::to_string(bytes) +
                " bytes of shared memory, a block of this device has at most " +
                std::to_string(most));
    }
}

inline int multiprocessors()
{
    static const int count = [] {
        int device = 0, answer = 0;
        hip_check_error(cudaGetDevice(&device));
        hip_check_error(cudaDeviceGetAttribute(&answer, cudaDevAttrMultiProcessorCount, device));
        return answer;
    }();
    return count;
}

// The grid: so many blocks, each `cluster` of them a cluster. Early: they may be launched while the
// kernel before is running, if the device can do that.
struct grid_blocks
{
    unsigned count, cluster = 1;
    bool early = false;

    grid_blocks(unsigned blocks, unsigned of_cluster = 1) : count(blocks), cluster(of_cluster) {}
};

// What a launch with clusters, or an early one, needs to be told; `attribute` must outlive it.
inline cudaLaunchConfig_t launch_config(const grid_blocks& blocks,
                                        unsigned threads,
                                        int shared_bytes,
                                        cudaStream_t stream,
                                        cudaLaunchAttribute& attribute)
{
    if(blocks.early)
    {
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
    }
    else
    {
        attribute.id             = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {blocks.cluster, 1, 1};
    }
    cudaLaunchConfig_t config{};
    config.gridDim          = dim3(blocks.count);
    config.blockDim         = dim3(threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
    config.stream           = stream;
    config.attrs            = &attribute;
    config.numAttrs         = 1;
    return config;
}

// More than 48 KiB of shared memory of a block have to be asked for, once per function and process
// unless it needs more; Tag is a type of its own for each function.
template <typename Tag, typename... Params>
void allow_shared_memory(void (*function)(Params...), int shared_bytes)
{
    static int allowed = -1;
    if(shared_bytes <= allowed) { return; }
    check_shared_memory(shared_bytes);
    hip_check_error(
        cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    allowed = shared_bytes;
}

// Starts one function; Tag is a type of its own for each. `written` is memory of which the kernel
// writes every element that its launcher may have asked to be zeroed, or null.
template <typename Tag, typename... Params>
void start(void (*function)(Params...),
           const grid_blocks& blocks,
           unsigned threads,
           int shared_bytes,
           cudaStream_t stream,
           const void* written,
           const std::type_identity_t<Params>&... params)
{
    allow_shared_memory<Tag>(function, shared_bytes);
    hip_check_error(deferred_zeroing::of_thread().settle(stream, written));
    if(blocks.count == 0) { return; }
    const bool early = blocks.early && CKPROF_CUDA_CAPABILITY >= 90;
    if(blocks.cluster == 1 && !early)
    {
        function<<<blocks.count, threads, static_cast<std::size_t>(shared_bytes), stream>>>(
            params...);
        return;
    }
    cudaLaunchAttribute attribute{};
    const cudaLaunchConfig_t config =
        launch_config(blocks, threads, shared_bytes, stream, attribute);
    hip_check_error(cudaLaunchKernelEx(&config, function, params...));
}

} // namespace ck_tile::cuda_model::impl
