// SPDX-License-Identifier: MIT
// Contiguous runs of elements: widening on the way into a panel, rounding on the way out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "ck_tile/host_model/data_type.hpp"
#include "ck_tile/host_model/impl/byte_codes.hpp"
#include "ck_tile/host_model/impl/simd.hpp"

namespace ck_tile::host_model::impl {

inline float element_as_float(const float* source) { return *source; }
inline float element_as_float(const half_t* source) { return half_bits_to_float(source->bits); }
inline float element_as_float(const bf16_t* source) { return bf16_bits_to_float(source->bits); }
inline float element_as_float(const std::int8_t* source) { return static_cast<float>(*source); }
template <typename Format>
inline float element_as_float(const float8<Format>* source)
{ return float8_values<Format>[source->bits]; }

template <int N, typename Byte>
inline simd<float, N> load_bytes_as_floats(const Byte* source)
{
    float values[N];
    for(int i = 0; i < N; ++i) { values[i] = element_as_float(source + i); }
    return load_bytes<simd<float, N>>(values);
}
template <int N>
inline simd<float, N> load_floats(const std::int8_t* source)
{ return load_bytes_as_floats<N>(source); }
template <int N, typename Format>
inline simd<float, N> load_floats(const float8<Format>* source)
{ return load_bytes_as_floats<N>(source); }

// Reads exactly `count` elements.
template <typename T>
inline void widen_run(const T* source, float* destination, std::int64_t count)
{
    std::int64_t i = 0;
    for(; i + vector_width <= count; i += vector_width)
    {
        store_bytes(destination + i, load_floats<vector_width>(source + i));
    }
    if constexpr(vector_width > 8)
    {
        if(i + 8 <= count)
        {
            store_bytes(destination + i, load_floats<8>(source + i));
            i += 8;
        }
    }
    if constexpr(vector_width > 4)
    {
        if(i + 4 <= count)
        {
            store_bytes(destination + i, load_floats<4>(source + i));
            i += 4;
        }
    }
    for(; i < count; ++i) { destination[i] = element_as_float(source + i); }
}

// The same for a destination of either kind: floats, or the elements as they are.
template <typename T>
inline void place_run(const T* source, float* destination, std::int64_t count)
{ widen_run(source, destination, count); }

template <typename T>
    requires(sizeof(T) == 2)
inline void place_run(const T* source, T* destination, std::int64_t count)
{
    using halves   = simd<std::uint16_t, 2 * vector_width>;
    std::int64_t i = 0;
    for(; i + 2 * vector_width <= count; i += 2 * vector_width)
    {
        store_bytes(destination + i, load_bytes<halves>(source + i));
    }
    for(; i + 8 <= count; i += 8)
    {
        store_bytes(destination + i, load_bytes<simd<std::uint16_t, 8>>(source + i));
    }
    std::memcpy(static_cast<void*>(destination + i),
                static_cast<const void*>(source + i),
                static_cast<std::size_t>(count - i) * sizeof(T));
}

template <typename T>
    requires(sizeof(T) == 2)
inline void zero_run(T* destination, std::int64_t count)
{ std::memset(static_cast<void*>(destination), 0, static_cast<std::size_t>(count) * sizeof(T)); }

inline void zero_run(float* destination, std::int64_t count)
{
    std::int64_t i = 0;
    for(; i + vector_width <= count; i += vector_width) { store_bytes(destination + i, vfloat{}); }
    for(; i < count; ++i) { destination[i] = 0; }
}

inline void
narrow_run(const float* source, float* destination, std::int64_t count, bf16_rounding_mode)
{ std::memcpy(destination, source, static_cast<std::size_t>(count) * sizeof(float)); }

inline void
narrow_run(const float* source, half_t* destination, std::int64_t count, bf16_rounding_mode)
{
    std::int64_t i = 0;
#if defined(__F16C__)
    for(; i + 8 <= count; i += 8)
    {
        const __m128i bits =
            _mm256_cvtps_ph(_mm256_loadu_ps(source + i), _MM_FROUND_TO_NEAREST_INT);
        store_bytes(destination + i, bits);
    }
#endif
    for(; i < count; ++i) { destination[i].bits = float_to_half_bits(source[i]); }
}

inline void narrow_run(const float* source,
                       bf16_t* destination,
                       std::int64_t count,
                       bf16_rounding_mode rounding)
{
    using bits_type = simd<std::uint32_t, vector_width>;
    using halves    = simd<std::uint16_t, vector_width>;
    const bool to_nearest =
        rounding == bf16_rounding_mode::standard || rounding == bf16_rounding_mode::standard_asm;
    std::int64_t i = 0;
    if(to_nearest || rounding == bf16_rounding_mode::truncate)
    {
        for(; i + vector_width <= count; i += vector_width)
        {
            bits_type bits = load_bytes<bits_type>(source + i);
            if(to_nearest)
            {
                // as float_to_bf16_bits() does: NaNs stay NaNs, infinities stay what they are
                const auto special      = (bits_type)((bits & 0x7f800000u) == 0x7f800000u);
                const auto nan          = (bits_type)((bits & 0x7fffffffu) > 0x7f800000u) &
                                          (bits_type)((bits & 0xffffu) != 0);
                const bits_type rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
                bits = (~special & rounded) | (special & (bits | (nan & 0x10000u)));
            }
            store_bytes(destination + i, __builtin_convertvector(bits >> 16, halves));
        }
    }
    for(; i < count; ++i) { destination[i].bits = float_to_bf16_bits(source[i], rounding); }
}

template <typename Format>
inline void
narrow_run(const float* source, float8<Format>* destination, std::int64_t count, bf16_rounding_mode)
{
    for(std::int64_t i = 0; i < count; ++i) { destination[i] = float8<Format>(source[i]); }
}

// The low bits: as CK Tile's conversion of an integer does.
inline void narrow_run(const std::int32_t* source,
                       std::int8_t* destination,
                       std::int64_t count,
                       bf16_rounding_mode)
{
    for(std::int64_t i = 0; i < count; ++i)
    {
        destination[i] = static_cast<std::int8_t>(source[i]);
    }
}

// Writes past the caches where the machine can. Ordered before the next locked instruction of the
// thread (x86 empties its write-combining buffers there), so before a grid's end.
inline void stream_run(const float* source, float* destination, std::int64_t count)
{
#if defined(__AVX512F__)
    constexpr std::uintptr_t line = vector_width * sizeof(float);
    const auto behind             = reinterpret_cast<std::uintptr_t>(destination) % line;
    std::int64_t i =
        std::min(static_cast<std::int64_t>((line - behind) % line / sizeof(float)), count);
    std::memcpy(destination, source, static_cast<std::size_t>(i) * sizeof(float));
    for(; i + vector_width <= count; i += vector_width)
    {
        _mm512_stream_ps(destination + i, _mm512_loadu_ps(source + i));
    }
    source += i;
    destination += i;
    count -= i;
#endif
    std::memcpy(destination, source, static_cast<std::size_t>(count) * sizeof(float));
}

// Calls function(static_cast<T*>(pointer)) with the element type that `type` names, one of those
// that convolutions have.
template <typename Function>
inline void with_element_type(data_type type, const Function& function)
{
    switch(type)
    {
    case data_type::fp32: function(static_cast<float*>(nullptr)); break;
    case data_type::fp16: function(static_cast<half_t*>(nullptr)); break;
    case data_type::bf16: function(static_cast<bf16_t*>(nullptr)); break;
    default: throw std::logic_error("this kernel has no such element type");
    }
}

// The same with the 8-bit types, which forward has.
template <typename Function>
inline void with_float_type(data_type type, const Function& function)
{
    switch(type)
    {
    case data_type::fp8_fnuz: function(static_cast<float8<e4m3_fnuz>*>(nullptr)); break;
    case data_type::bf8_fnuz: function(static_cast<float8<e5m2_fnuz>*>(nullptr)); break;
    case data_type::fp8_ocp: function(static_cast<float8<e4m3_ocp>*>(nullptr)); break;
    case data_type::bf8_ocp: function(static_cast<float8<e5m2_ocp>*>(nullptr)); break;
    default: with_element_type(type, function);
    }
}

template <typename Function>
inline void with_operand_type(data_type type, const Function& function)
{
    if(type == data_type::int8) { function(static_cast<std::int8_t*>(nullptr)); }
    else
    {
        with_float_type(type, function);
    }
}

} // namespace ck_tile::host_model::impl
