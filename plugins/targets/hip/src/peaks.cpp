// SPDX-License-Identifier: MIT
// What an AMD GPU reaches at most: copying memory, and the matrix instructions of each type.
#include <cstddef>

#include <hip/hip_runtime.h>

#define CKPROF_RUNTIME(name) hip##name
#include "ckprof_device_peaks.hpp"

namespace {

using ckprof::peaks::check;
using ckprof::peaks::memory;

constexpr int threads   = 256;
constexpr int residents = 4; // blocks that a compute unit is given
constexpr int chains    = 4; // enough to hide the latency of a matrix instruction
constexpr int rounds    = 1024;

template <typename Element, int Count>
using lanes = Element __attribute__((ext_vector_type(Count)));

struct fp32;
struct fp16;
struct bf16;

// The widest matrix instruction of a type: operations of one wave, 0 where the architecture has
// none that is used here, and d += a b.
template <typename Type>
struct product
{
    using sums                 = lanes<float, 16>;
    static constexpr int flops = 0;
    __device__ static void issue(sums&, float) {}
};

// Operands between 0.5 and 1: products of zeros would take less power, and let the clock be higher
// than kernels ever see it.
template <typename Element, int Count>
__device__ lanes<Element, Count> operand(float seed)
{
    lanes<Element, Count> filled;
    for(int lane = 0; lane < Count; ++lane) filled[lane] = static_cast<Element>(seed);
    return filled;
}

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)

template <>
struct product<fp32>
{
    using sums                 = lanes<float, 16>;
    static constexpr int flops = 2 * 32 * 32 * 2;
    __device__ static void issue(sums& d, float seed)
    { d = __builtin_amdgcn_mfma_f32_32x32x2f32(seed, seed, d, 0, 0, 0); }
};

template <>
struct product<fp16>
{
    using sums = lanes<float, 16>;
#if defined(__gfx950__)
    static constexpr int flops = 2 * 32 * 32 * 16;
    __device__ static void issue(sums& d, float seed)
    {
        const auto values = operand<_Float16, 8>(seed);
        d                 = __builtin_amdgcn_mfma_f32_32x32x16_f16(values, values, d, 0, 0, 0);
    }
#else
    static constexpr int flops = 2 * 32 * 32 * 8;
    __device__ static void issue(sums& d, float seed)
    {
        const auto values = operand<_Float16, 4>(seed);
        d                 = __builtin_amdgcn_mfma_f32_32x32x8f16(values, values, d, 0, 0, 0);
    }
#endif
};

template <>
struct product<bf16>
{
    using sums = lanes<float, 16>;
#if defined(__gfx950__)
    static constexpr int flops = 2 * 32 * 32 * 16;
    __device__ static void issue(sums& d, float seed)
    {
        const auto values = operand<__bf16, 8>(seed);
        d                 = __builtin_amdgcn_mfma_f32_32x32x16_bf16(values, values, d, 0, 0, 0);
    }
#elif defined(__gfx908__)
    static constexpr int flops = 2 * 32 * 32 * 4;
    __device__ static void issue(sums& d, float)
    {
        const lanes<short, 2> values = {0x3f40, 0x3f41};
        d = __builtin_amdgcn_mfma_f32_32x32x4bf16(values, values, d, 0, 0, 0);
    }
#else
    static constexpr int flops = 2 * 32 * 32 * 8;
    __device__ static void issue(sums& d, float)
    {
        const lanes<short, 4> values = {0x3f40, 0x3f41, 0x3f42, 0x3f43};
        d = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(values, values, d, 0, 0, 0);
    }
#endif
};

#elif defined(__gfx1200__) || defined(__gfx1201__)

template <>
struct product<fp16>
{
    using sums                 = lanes<float, 8>;
    static constexpr int flops = 2 * 16 * 16 * 16;
    __device__ static void issue(sums& d, float seed)
    {
        const auto values = operand<_Float16, 8>(seed);
        d                 = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(values, values, d);
    }
};

template <>
struct product<bf16>
{
    using sums                 = lanes<float, 8>;
    static constexpr int flops = 2 * 16 * 16 * 16;
    __device__ static void issue(sums& d, float)
    {
        lanes<short, 8> values;
        for(int lane = 0; lane < 8; ++lane) values[lane] = static_cast<short>(0x3f40 + lane);
        d = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(values, values, d);
    }
};

#elif defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__)

template <>
struct product<fp16>
{
    using sums                 = lanes<float, 8>;
    static constexpr int flops = 2 * 16 * 16 * 16;
    __device__ static void issue(sums& d, float seed)
    {
        const auto values = operand<_Float16, 16>(seed);
        d                 = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(values, values, d);
    }
};

template <>
struct product<bf16>
{
    using sums                 = lanes<float, 8>;
    static constexpr int flops = 2 * 16 * 16 * 16;
    __device__ static void issue(sums& d, float)
    {
        lanes<short, 16> values;
        for(int lane = 0; lane < 16; ++lane) values[lane] = static_cast<short>(0x3f40 + lane);
        d = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(values, values, d);
    }
};

#endif

// Writes the operations of one wave into out: the host does not know which instructions there are.
template <typename Type>
__global__ void __launch_bounds__(threads) multiply_and_add(float seed, double* out)
{
    using sums = typename product<Type>::sums;
    sums all[chains];
    for(auto& one : all)
        for(unsigned lane = 0; lane < sizeof(sums) / sizeof(float); ++lane) one[lane] = seed;
    for(int round = 0; round < rounds; ++round)
    {
#pragma unroll
        for(auto& one : all) product<Type>::issue(one, seed);
    }
    float total = 0;
    for(const auto& one : all) total += one[0];
    // What is computed must seem to be needed.
    if(total == -1.2345e-30f) out[1] = total;
    if(blockIdx.x == 0 && threadIdx.x == 0)
        out[0] = double{product<Type>::flops} * chains * rounds * (threads / warpSize);
}

template <typename Type>
double product_rate(double seconds)
{
    int device = 0, units = 0;
    check(hipGetDevice(&device));
    check(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, device));
    const memory out(2 * sizeof(double));
    auto* result       = static_cast<double*>(out.address);
    const int blocks   = residents * units;
    const double least = ckprof::peaks::least_seconds(
        seconds, [&] { multiply_and_add<Type><<<blocks, threads, 0, nullptr>>>(0.75f, result); });
    double flop = 0;
    check(hipMemcpy(&flop, result, sizeof(flop), hipMemcpyDeviceToHost));
    return least > 0 ? flop * blocks / least : 0;
}

} // namespace

extern "C" ckprof_status
ckprof_measure_peak(ckprof_peak peak, size_t bytes, double seconds, double* rate)
{
    return ckprof::peaks::measured(rate, [&] {
        switch(peak)
        {
        case CKPROF_PEAK_COPY: return ckprof::peaks::copy_rate(bytes, seconds);
        case CKPROF_PEAK_FP32: return product_rate<fp32>(seconds);
        case CKPROF_PEAK_FP16: return product_rate<fp16>(seconds);
        case CKPROF_PEAK_BF16: return product_rate<bf16>(seconds);
        default: return 0.0;
        }
    });
}
