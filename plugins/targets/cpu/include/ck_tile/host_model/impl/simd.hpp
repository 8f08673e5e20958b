// SPDX-License-Identifier: MIT
// Vectors of floats as wide as the machine's registers, by way of compiler vector extensions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "ck_tile/core/numeric/bfloat16.hpp"
#include "ck_tile/core/numeric/half.hpp"

#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace ck_tile::host_model::impl {

#if defined(__AVX512F__)
inline constexpr int vector_width = 16; // floats per vector
#elif defined(__AVX__)
inline constexpr int vector_width = 8;
#else
inline constexpr int vector_width = 4;
#endif

template <typename T, int N>
struct simd_type
{
    using type __attribute__((vector_size(sizeof(T) * N))) = T;
};

template <typename T, int N>
using simd = typename simd_type<T, N>::type;

using vfloat = simd<float, vector_width>;

template <typename Vector, typename T>
[[gnu::always_inline]] inline Vector load_bytes(const T* source)
{
    Vector result;
    std::memcpy(&result, static_cast<const void*>(source), sizeof(result));
    return result;
}

template <typename Vector, typename T>
[[gnu::always_inline]] inline void store_bytes(T* destination, const Vector& value)
{ std::memcpy(static_cast<void*>(destination), &value, sizeof(value)); }

// N elements widened to float. N is 4, 8 or 16, at most vector_width.
template <int N>
[[gnu::always_inline]] inline simd<float, N> load_floats(const float* source)
{ return load_bytes<simd<float, N>>(source); }

template <int N>
[[gnu::always_inline]] inline simd<float, N> load_floats(const bf16_t* source)
{
    const auto narrow = load_bytes<simd<std::uint16_t, N>>(source);
    const auto wide   = __builtin_convertvector(narrow, simd<std::uint32_t, N>) << 16;
    return (simd<float, N>)wide;
}

template <int N>
[[gnu::always_inline]] inline simd<float, N> load_floats(const half_t* source)
{
#if defined(__AVX512F__)
    if constexpr(N == 16)
    {
        // The form without a mask makes GCC 12 warn about its own header.
        return (simd<float, N>)_mm512_maskz_cvtph_ps(
            0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source)));
    }
#endif
#if defined(__F16C__)
    if constexpr(N == 8)
    {
        return (simd<float, N>)_mm256_cvtph_ps(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(source)));
    }
    if constexpr(N == 4)
    {
        return (simd<float, N>)_mm_cvtph_ps(
            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(source)));
    }
#endif
    // Exponent and fraction moved to their places in a float are off by a factor of 2^-112, also
    // for subnormals; infinity and NaN get the float's exponent instead.
    using wide_bits = simd<std::uint32_t, N>;
    const auto bits =
        __builtin_convertvector(load_bytes<simd<std::uint16_t, N>>(source), wide_bits);
    const auto sign    = (bits & 0x8000u) << 16;
    const auto shifted = (bits & 0x7fffu) << 13;
    const auto scaled  = (wide_bits)((simd<float, N>)shifted * 0x1p112f);
    const auto special = (wide_bits)(shifted >= 0x0f800000u);
    const auto value   = (special & (shifted | 0x7f800000u)) | (~special & scaled);
    return (simd<float, N>)(value | sign);
}

// One element of the interleaving of a and b: a0 b0 a1 b1 ... (low half) or the high half.
template <bool High, std::size_t... I>
[[gnu::always_inline]] inline vfloat interleave(vfloat a, vfloat b, std::index_sequence<I...>)
{
    constexpr int W     = vector_width;
    constexpr int start = High ? W / 2 : 0;
#if defined(__clang__)
    return __builtin_shufflevector(a, b, (start + static_cast<int>(I / 2) + (I % 2 ? W : 0))...);
#else
    return __builtin_shuffle(
        a, b, simd<std::int32_t, W>{(start + static_cast<int>(I / 2) + (I % 2 ? W : 0))...});
#endif
}

// Transposes the square matrix whose rows are given: log2(W) perfect shuffles of the row pairs
// (i, i + W/2).
[[gnu::always_inline]] inline void transpose(vfloat (&rows)[vector_width])
{
    constexpr int W = vector_width;
    using indices   = std::make_index_sequence<W>;
#pragma GCC unroll 4
    for(int round = 1; round < W; round *= 2)
    {
        vfloat shuffled[W];
#pragma GCC unroll 8
        for(int i = 0; i < W / 2; ++i)
        {
            shuffled[2 * i]     = interleave<false>(rows[i], rows[i + W / 2], indices{});
            shuffled[2 * i + 1] = interleave<true>(rows[i], rows[i + W / 2], indices{});
        }
#pragma GCC unroll 16
        for(int i = 0; i < W; ++i) { rows[i] = shuffled[i]; }
    }
}

} // namespace ck_tile::host_model::impl
