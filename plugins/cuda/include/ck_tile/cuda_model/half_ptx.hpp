// SPDX-License-Identifier: MIT
// The machine instructions of 16-bit floating-point types, which are handled as their bits: the
// vendor's headers for them take a compiler as long to read as those of all engines.
#pragma once

#include <cstdint>

// Devices before compute capability 9.0 have some of these instructions in software, the vendor's.
#if CKPROF_CUDA_CAPABILITY < 90
#include <cuda_bf16.h>
#endif

namespace ck_tile::cuda_model {

// Rounded to nearest, ties to even, like all that follow.
__device__ __forceinline__ std::uint16_t half_bits(float value)
{
    std::uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

__device__ __forceinline__ std::uint16_t bfloat_bits(float value)
{
    std::uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// Of two values, the first in the low half.
__device__ __forceinline__ std::uint32_t half2_bits(float low, float high)
{
    std::uint32_t bits;
    asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(bits) : "f"(low), "f"(high));
    return bits;
}

__device__ __forceinline__ std::uint32_t bfloat2_bits(float low, float high)
{
    std::uint32_t bits;
    asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(bits) : "f"(low), "f"(high));
    return bits;
}

__device__ __forceinline__ float half_value(std::uint16_t bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ __forceinline__ std::uint32_t subtract_half2(std::uint32_t a, std::uint32_t b)
{
    std::uint32_t difference;
    asm("sub.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
    return difference;
}

__device__ __forceinline__ std::uint32_t multiply_half2(std::uint32_t a, std::uint32_t b)
{
    std::uint32_t product;
    asm("mul.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
    return product;
}

__device__ __forceinline__ std::uint32_t multiply_bfloat2(std::uint32_t a, std::uint32_t b)
{
#if CKPROF_CUDA_CAPABILITY >= 90
    std::uint32_t product;
    asm("mul.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
    return product;
#else
    const __nv_bfloat162 product =
        __hmul2(*reinterpret_cast<__nv_bfloat162*>(&a), *reinterpret_cast<__nv_bfloat162*>(&b));
    return *reinterpret_cast<const std::uint32_t*>(&product);
#endif
}

// Atomic additions to memory; what was there is of no use.
__device__ __forceinline__ void add_half(void* to, std::uint16_t bits)
{
    [[maybe_unused]] std::uint16_t before;
    asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(before) : "l"(to), "h"(bits) : "memory");
}

__device__ __forceinline__ void add_half2(void* to, std::uint32_t bits)
{
    [[maybe_unused]] std::uint32_t before;
    asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(to), "r"(bits)
                 : "memory");
}

__device__ __forceinline__ void add_bfloat(void* to, std::uint16_t bits)
{
#if CKPROF_CUDA_CAPABILITY >= 90
    [[maybe_unused]] std::uint16_t before;
    asm volatile("atom.add.noftz.bf16 %0, [%1], %2;"
                 : "=h"(before)
                 : "l"(to), "h"(bits)
                 : "memory");
#else
    atomicAdd(static_cast<__nv_bfloat16*>(to), __ushort_as_bfloat16(bits));
#endif
}

__device__ __forceinline__ void add_bfloat2(void* to, std::uint32_t bits)
{
#if CKPROF_CUDA_CAPABILITY >= 90
    [[maybe_unused]] std::uint32_t before;
    asm volatile("atom.add.noftz.bf16x2 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(to), "r"(bits)
                 : "memory");
#else
    atomicAdd(static_cast<__nv_bfloat162*>(to), *reinterpret_cast<__nv_bfloat162*>(&bits));
#endif
}

} // namespace ck_tile::cuda_model
