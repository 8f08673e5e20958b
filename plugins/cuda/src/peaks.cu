// SPDX-License-Identifier: MIT
// What an NVIDIA GPU reaches at most: copying memory, and the fastest multiply-adds of each type.
#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#define CKPROF_RUNTIME(name) cuda##name
#include "ck_tile/cuda_model/matrix_descriptor.hpp"
#include "ck_tile/cuda_model/ptx.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"
#include "ckprof_device_peaks.hpp"

#if CKPROF_CUDA_ENGINE_W
#include "ck_tile/cuda_model/hopper_ptx.hpp"
#include "ck_tile/cuda_model/wgmma_products.hpp"
#endif

namespace {

using ck_tile::host_model::data_type;
using ckprof::peaks::check;
using ckprof::peaks::highest_rate;
using ckprof::peaks::memory;

constexpr int warp      = 32;
constexpr int group     = 128; // threads of a warpgroup
constexpr int threads   = 256;
constexpr int residents = 8; // blocks of the kernels below that a multiprocessor is given

// Bits of an operand that is between 0.5 and 1 in fp16 and small in bf16: products of zeros would
// take less power, and let the clock be higher than kernels ever see it.
__device__ std::uint32_t operand_bits(std::uint32_t seed)
{
    const std::uint32_t mixed = seed * 2654435761u;
    return (mixed & 0x03ff03ffu) | 0x38003800u;
}

// Never true: what is computed must seem to be needed.
__device__ void keep(float value, float* out)
{
    if(value == -1.2345e-30f) *out = value;
}

// --- fp32: fused multiply-adds, enough chains to hide their latency ---------------------------

constexpr int fma_chains                  = 8;
constexpr int fma_rounds                  = 16384;
constexpr double fma_flop                 = 2.0 * fma_chains * fma_rounds * threads;
[[maybe_unused]] constexpr int mma_chains = 8;
[[maybe_unused]] constexpr int mma_rounds = 2048;
[[maybe_unused]] constexpr double mma_flop =
    2.0 * 16 * 8 * 16 * mma_chains * mma_rounds * (threads / warp);
[[maybe_unused]] constexpr int wgmma_rounds = 2048;
constexpr int wgmma_columns                 = 256;
[[maybe_unused]] constexpr double wgmma_flop =
    2.0 * 64 * wgmma_columns * ck_tile::cuda_model::hopper_k * wgmma_rounds * (threads / group);

__global__ void __launch_bounds__(threads) multiply_and_add(float seed, float* out)
{
    float sums[fma_chains];
    for(int chain = 0; chain < fma_chains; ++chain)
        sums[chain] = seed * static_cast<float>(chain + 1 + threadIdx.x);
    for(int round = 0; round < fma_rounds; ++round)
    {
#pragma unroll
        for(float& sum : sums) sum = fmaf(sum, seed, 1e-3f);
    }
    float total = 0;
    for(const float sum : sums) total += sum;
    keep(total, out);
}

// --- half types, engine M: the products of one warp -------------------------------------------

template <data_type Type>
__global__ void __launch_bounds__(threads) warp_products(float* out)
{
    std::uint32_t a[4], b[2];
    for(int part = 0; part < 4; ++part) a[part] = operand_bits(threadIdx.x * 4 + part);
    for(int part = 0; part < 2; ++part) b[part] = operand_bits(threadIdx.x * 2 + part + 4096);
    float sums[mma_chains][4] = {};
    for(int round = 0; round < mma_rounds; ++round)
    {
#pragma unroll
        for(auto& sum : sums) ck_tile::cuda_model::multiply<Type>(sum, a, b[0], b[1]);
    }
    float total = 0;
    for(const auto& sum : sums) total += sum[0] + sum[1] + sum[2] + sum[3];
    keep(total, out);
}

// --- half types, engine W: the products of a warpgroup, operands in shared memory -------------

#if CKPROF_CUDA_ENGINE_W
constexpr int columns_bytes     = wgmma_columns * ck_tile::cuda_model::hopper_row_bytes;
constexpr int wgmma_shared_size = ck_tile::cuda_model::hopper_chunk_bytes * (threads / group) +
                                  columns_bytes + 1024; // to align to the swizzle's period

template <data_type Type>
__global__ void __launch_bounds__(threads, 1) warpgroup_products(float* out)
{
    namespace model = ck_tile::cuda_model;
    extern __shared__ std::uint32_t memory[];
    for(int word = threadIdx.x; word < wgmma_shared_size / 4; word += threads)
        memory[word] = operand_bits(word);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const auto start   = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
    const auto aligned = (start + 1023u) & ~1023u;
    const auto rows    = aligned + columns_bytes + threadIdx.x / group * model::hopper_chunk_bytes;
    const std::uint64_t a         = model::make_descriptor(rows, true);
    const std::uint64_t b         = model::make_descriptor(aligned, true);
    float sums[wgmma_columns / 2] = {};
    // Unrolled, it takes ptxas four times as long; each round waits for its products anyway.
#pragma unroll 1
    for(int round = 0; round < wgmma_rounds; ++round)
    {
        model::products_begin();
#pragma unroll
        for(int step = 0; step < model::hopper_k / 16; ++step)
        {
            const std::uint64_t along = step * model::descriptor_k_step(true);
            model::warpgroup_product<Type, wgmma_columns, false, false>::issue(
                sums, a + along, b + along, 1);
        }
        model::products_commit();
        model::products_wait<0>();
    }
    float total = 0;
    for(const float sum : sums) total += sum;
    keep(total, out);
}
#endif

// --- measuring --------------------------------------------------------------------------------

int multiprocessors()
{
    int device = 0, count = 0;
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return count;
}

template <data_type Type>
double product_rate(double seconds)
{
    const memory out(sizeof(float));
    auto* result = static_cast<float*>(out.address);
#if CKPROF_CUDA_ENGINE_W
    const auto kernel = &warpgroup_products<Type>;
    const int blocks  = multiprocessors();
    check(cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, wgmma_shared_size));
    return highest_rate(wgmma_flop * blocks, seconds, [&] {
        kernel<<<blocks, threads, wgmma_shared_size>>>(result);
    });
#else
    const int blocks = residents * multiprocessors();
    return highest_rate(
        mma_flop * blocks, seconds, [&] { warp_products<Type><<<blocks, threads>>>(result); });
#endif
}

double multiply_add_rate(double seconds)
{
    const memory out(sizeof(float));
    auto* result     = static_cast<float*>(out.address);
    const int blocks = residents * multiprocessors();
    return highest_rate(
        fma_flop * blocks, seconds, [&] { multiply_and_add<<<blocks, threads>>>(0.999f, result); });
}

} // namespace

extern "C" ckprof_status
ckprof_measure_peak(ckprof_peak peak, size_t bytes, double seconds, double* rate)
{
    return ckprof::peaks::measured(rate, [&] {
        switch(peak)
        {
        case CKPROF_PEAK_COPY: return ckprof::peaks::copy_rate(bytes, seconds);
        case CKPROF_PEAK_FP32: return multiply_add_rate(seconds);
        case CKPROF_PEAK_FP16: return product_rate<data_type::fp16>(seconds);
        case CKPROF_PEAK_BF16: return product_rate<data_type::bf16>(seconds);
        default: return 0.0;
        }
    });
}
