// SPDX-License-Identifier: MIT
//
// Element types as results are verified with them: stored words from and to numbers, in device code
// and in plain C++ alike, so that both give the same bits.
#ifndef CKPROF_CHECK_ELEMENTS_HPP
#define CKPROF_CHECK_ELEMENTS_HPP

#include <cstdint>
#include <cstring>

#include "ckprof_checks.h"

#if defined(__CUDACC__) || defined(__HIP__)
#define CKPROF_CHECKS_ON_DEVICE 1
#define CKPROF_DEVICE __device__
#define CKPROF_EVERYWHERE __host__ __device__
#else
#define CKPROF_CHECKS_ON_DEVICE 0
#define CKPROF_DEVICE
#define CKPROF_EVERYWHERE
#endif

namespace ckprof::checks {

template <typename To, typename From>
CKPROF_EVERYWHERE inline To bits_as(From from)
{
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}

// The finaliser of the splitmix64 generator: each bit of the result depends on each of the
// argument.
CKPROF_EVERYWHERE inline uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// Numbers that follow each other, far apart.
CKPROF_EVERYWHERE inline uint64_t numbered(uint64_t key, uint64_t number)
{ return mixed(key + (number + 1) * 0x9e3779b97f4a7c15u); }

// What stands at the upper end of a small floating-point type.
enum class special
{
    ieee,     // infinities and NaNs have the largest exponent
    one_nan,  // only all bits set is a NaN
    negative, // only the negative zero is a NaN
};

// A floating-point type of at most 16 bits.
template <int Exponent, int Mantissa, int Bias, special Special>
struct small_float
{
    static constexpr int bits          = 1 + Exponent + Mantissa;
    static constexpr uint32_t sign     = 1u << (bits - 1);
    static constexpr uint32_t infinity = ((1u << Exponent) - 1) << Mantissa;

    CKPROF_EVERYWHERE static double decode(uint32_t word)
    {
        const uint32_t magnitude = word & (sign - 1);
        const uint64_t negative  = word & sign ? uint64_t{1} << 63 : 0;
        const bool is_nan        = Special == special::ieee      ? magnitude > infinity
                                   : Special == special::one_nan ? magnitude == sign - 1
                                                                 : word == sign;
        if(is_nan) return bits_as<double>(uint64_t{0x7ff8000000000000u});
        if(Special == special::ieee && magnitude == infinity)
            return bits_as<double>(negative | 0x7ff0000000000000u);
        if(magnitude >> Mantissa == 0)
        {
            // 2 ^ (1 - bias - mantissa), which a double holds as a normal number
            const auto unit =
                bits_as<double>(static_cast<uint64_t>(1 - Bias - Mantissa + 1023) << 52);
            const double value = static_cast<double>(static_cast<int32_t>(magnitude)) * unit;
            return bits_as<double>(bits_as<uint64_t>(value) | negative);
        }
        return bits_as<double>(
            negative |
            ((static_cast<uint64_t>(magnitude) + (static_cast<uint64_t>(1023 - Bias) << Mantissa))
             << (52 - Mantissa)));
    }

    // Rounds to nearest, ties to even. For values that are not larger than the largest one.
    CKPROF_EVERYWHERE static uint32_t encode(float value)
    {
        const auto word          = bits_as<uint32_t>(value);
        const uint32_t magnitude = word & 0x7fffffffu;
        const int exponent       = static_cast<int>(magnitude >> 23) - 127 + Bias;
        const uint32_t fraction  = (magnitude & 0x7fffffu) | 0x800000u;
        const int dropped        = 23 - Mantissa + (exponent < 1 ? 1 - exponent : 0);
        uint32_t rounded         = 0;
        if(magnitude != 0 && dropped <= 25)
        {
            const uint32_t half = 1u << (dropped - 1);
            rounded             = (fraction + half - 1 + ((fraction >> dropped) & 1)) >> dropped;
            // the hidden bit counts as one step of the exponent
            if(exponent > 1) rounded += static_cast<uint32_t>(exponent - 1) << Mantissa;
        }
        const bool negative = word >> 31 && (Special != special::negative || rounded != 0);
        return rounded | (negative ? sign : 0);
    }
};

using fp16_type    = small_float<5, 10, 15, special::ieee>;
using fp8_ocp_type = small_float<4, 3, 7, special::one_nan>;
using bf8_ocp_type = small_float<5, 2, 15, special::ieee>;
using fp8_type     = small_float<4, 3, 8, special::negative>;
using bf8_type     = small_float<5, 2, 16, special::negative>;

CKPROF_EVERYWHERE inline uint32_t encode_bf16(float value)
{
    const auto word = bits_as<uint32_t>(value);
    return (word + 0x7fffu + ((word >> 16) & 1)) >> 16;
}

CKPROF_EVERYWHERE inline int bytes_of(int32_t element)
{
    switch(element)
    {
    case CKPROF_FP32:
    case CKPROF_INT32: return 4;
    case CKPROF_FP16:
    case CKPROF_BF16: return 2;
    default: return 1;
    }
}

// The stored word of an element.
CKPROF_EVERYWHERE inline uint32_t word_of(int32_t element, const void* memory, int64_t at)
{
    switch(bytes_of(element))
    {
    case 4: return static_cast<const uint32_t*>(memory)[at];
    case 2: return static_cast<const uint16_t*>(memory)[at];
    default: return static_cast<const uint8_t*>(memory)[at];
    }
}

CKPROF_EVERYWHERE inline double decoded(int32_t element, uint32_t word)
{
    switch(element)
    {
    case CKPROF_FP32: return static_cast<double>(bits_as<float>(word));
    case CKPROF_FP16: return fp16_type::decode(word);
    case CKPROF_BF16: return static_cast<double>(bits_as<float>(word << 16));
    case CKPROF_FP8_OCP: return fp8_ocp_type::decode(word);
    case CKPROF_BF8_OCP: return bf8_ocp_type::decode(word);
    case CKPROF_FP8: return fp8_type::decode(word);
    case CKPROF_BF8: return bf8_type::decode(word);
    case CKPROF_INT8: return static_cast<double>(static_cast<int8_t>(word));
    default: return static_cast<double>(static_cast<int32_t>(word));
    }
}

// Rounds to a type with so many bits of mantissa, whose smallest normal number and that which is
// too large are powers of two with these exponents.
CKPROF_EVERYWHERE inline double
rounded_to(double value, int mantissa, int smallest, int too_large, bool nearest)
{
    if(value - value != 0) return value;
    const uint64_t bits     = bits_as<uint64_t>(value);
    const uint64_t sign     = bits & (uint64_t{1} << 63);
    const double magnitude  = bits_as<double>(bits ^ sign);
    const auto power_of_two = [](int exponent) {
        return bits_as<double>(static_cast<uint64_t>(exponent + 1023) << 52);
    };
    double found = 0;
    if(magnitude < power_of_two(smallest))
    {
        // multiples of the smallest number
        const double unit  = power_of_two(smallest - mantissa);
        const double times = magnitude / unit;
        auto whole         = static_cast<uint64_t>(times);
        const double left  = times - static_cast<double>(whole);
        if(nearest && (left > 0.5 || (left == 0.5 && (whole & 1)))) ++whole;
        found = static_cast<double>(whole) * unit;
    }
    else
    {
        const int dropped = 52 - mantissa;
        uint64_t word     = bits ^ sign;
        if(nearest) word += (uint64_t{1} << (dropped - 1)) - 1 + ((word >> dropped) & 1);
        found = bits_as<double>(word >> dropped << dropped);
    }
    if(found >= power_of_two(too_large)) found = bits_as<double>(uint64_t{0x7ff0000000000000u});
    return bits_as<double>(bits_as<uint64_t>(found) | sign);
}

// The nearest element of a type, or the one that is left when bits are cut off; types of 8 bits and
// integers are left as they are.
CKPROF_EVERYWHERE inline double rounded(int32_t element, double value, bool nearest)
{
    switch(element)
    {
    case CKPROF_FP32: return rounded_to(value, 23, -126, 128, nearest);
    case CKPROF_FP16: return rounded_to(value, 10, -14, 16, nearest);
    case CKPROF_BF16: return rounded_to(value, 7, -126, 128, nearest);
    default: return value;
    }
}

// The least magnitude that is rounded to infinity; infinite where there is none.
CKPROF_EVERYWHERE inline double overflow_of(int32_t element)
{
    switch(element)
    {
    case CKPROF_FP32: return (1 - 0x1p-25) * 0x1p128;
    case CKPROF_FP16: return (1 - 0x1p-12) * 0x1p16;
    case CKPROF_BF16: return (1 - 0x1p-9) * 0x1p128;
    default: return bits_as<double>(uint64_t{0x7ff0000000000000u});
    }
}

// The word of a value that an operand can be filled with: all are within the range of every type.
CKPROF_EVERYWHERE inline uint32_t encoded(int32_t element, float value)
{
    switch(element)
    {
    case CKPROF_FP32: return bits_as<uint32_t>(value);
    case CKPROF_FP16: return fp16_type::encode(value);
    case CKPROF_BF16: return encode_bf16(value);
    case CKPROF_FP8_OCP: return fp8_ocp_type::encode(value);
    case CKPROF_BF8_OCP: return bf8_ocp_type::encode(value);
    case CKPROF_FP8: return fp8_type::encode(value);
    case CKPROF_BF8: return bf8_type::encode(value);
    default: return static_cast<uint32_t>(static_cast<int32_t>(value));
    }
}

CKPROF_EVERYWHERE inline void store(int32_t element, void* memory, int64_t at, uint32_t word)
{
    switch(bytes_of(element))
    {
    case 4: static_cast<uint32_t*>(memory)[at] = word; break;
    case 2: static_cast<uint16_t*>(memory)[at] = static_cast<uint16_t>(word); break;
    default: static_cast<uint8_t*>(memory)[at] = static_cast<uint8_t>(word); break;
    }
}

} // namespace ckprof::checks

#endif
