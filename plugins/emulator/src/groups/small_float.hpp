// SPDX-License-Identifier: MIT
// Floating-point formats of 4 to 16 bits, each a subset of fp32's values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace ckprof::emulator {

constexpr uint32_t mask(bool set) { return 0U - static_cast<uint32_t>(set); }
constexpr uint32_t select(bool first, uint32_t a, uint32_t b)
{ return (a & mask(first)) | (b & ~mask(first)); }

// What stands for infinities and NaN.
enum class Specials : uint8_t
{
    none,          // every code is a number
    ieee,          // the highest exponent: infinity and NaN
    all_ones,      // the highest code of each sign is NaN
    negative_zero, // the code of -0 is NaN
};

template <unsigned ExponentBits, unsigned MantissaBits, int Bias, Specials Kind>
struct SmallFloat
{
    static constexpr unsigned exponent_bits = ExponentBits, mantissa_bits = MantissaBits;
    static constexpr int bias          = Bias;
    static constexpr Specials specials = Kind;
    static constexpr unsigned bits     = 1 + ExponentBits + MantissaBits;
    static constexpr uint32_t sign_bit = 1U << (bits - 1), magnitude_bits = sign_bit - 1;
    static constexpr uint32_t infinity = ((1U << ExponentBits) - 1) << MantissaBits; // of ieee
    static constexpr uint32_t largest  = Kind == Specials::ieee       ? infinity - 1
                                         : Kind == Specials::all_ones ? magnitude_bits - 1
                                                                      : magnitude_bits;

    // The bits as fp32 of a code; further bits of `word` do not matter. Masks in place of branches,
    // which compilers make of conditional expressions, let loops over lanes become vector
    // instructions.
    template <bool flush_denormals = false>
    static uint32_t to_float(uint32_t word)
    {
        const uint32_t sign      = (word & sign_bit) << (32 - bits);
        const uint32_t magnitude = word & magnitude_bits;
        // as fp32, the same fields say a number that is too small by a power of two
        constexpr float factor = std::bit_cast<float>(static_cast<uint32_t>(254 - Bias) << 23);
        const uint32_t shifted = magnitude << (23 - MantissaBits);
        uint32_t value         = std::bit_cast<uint32_t>(std::bit_cast<float>(shifted) * factor);
        if constexpr(flush_denormals) value &= mask(magnitude >= 1U << MantissaBits);
        if constexpr(Kind == Specials::ieee)
            value = select(magnitude >= infinity, 0x7f800000 | shifted, value);
        if constexpr(Kind == Specials::all_ones)
            value = select(magnitude == magnitude_bits, 0x7fc00000, value);
        if constexpr(Kind == Specials::negative_zero)
            return select(
                (word & (sign_bit | magnitude_bits)) == sign_bit, 0x7fc00000, value | sign);
        return value | sign;
    }

    static constexpr uint32_t not_a_number(uint32_t sign)
    {
        if constexpr(Kind == Specials::ieee)
            return sign | infinity | 1U << (MantissaBits - 1);
        else
            return Kind == Specials::negative_zero ? sign_bit : sign | largest | 1;
    }

    // The code of fp32 bits times 2^-exponent. `random` is added below the last bit that is kept,
    // its highest bits first; without one the result is the nearest, even at a tie. What is too
    // large becomes infinity or NaN, where the format has them, unless it is to be clamped.
    static uint32_t from_float(uint32_t word, int exponent, const uint32_t* random, bool clamp)
    {
        const uint32_t sign = (word >> 31) << (bits - 1), magnitude = word & 0x7fffffff;
        if(magnitude > 0x7f800000) return not_a_number(sign);
        uint32_t code = 0;
        if(magnitude == 0x7f800000)
            code = ~uint32_t{0};
        else if(magnitude != 0)
        {
            // mantissa * 2^(power - 23), the mantissa with its highest bit at 23
            const bool denormal = magnitude < 0x800000;
            const int up        = denormal ? std::countl_zero(magnitude) - 8 : 0;
            const uint32_t mantissa =
                denormal ? magnitude << up : (magnitude & 0x7fffff) | 0x800000;
            const int power =
                (denormal ? 1 : static_cast<int>(magnitude >> 23)) - 127 - up - exponent;
            const int least     = 1 - Bias; // power of the smallest normal number
            const int drop      = 23 - static_cast<int>(MantissaBits) + std::max(least - power, 0);
            const uint64_t wide = mantissa;
            uint64_t kept       = 0;
            if(drop < 32)
            {
                const uint64_t half = uint64_t{1} << (drop - 1);
                kept = random != nullptr ? (wide + (*random >> (32 - drop))) >> drop
                                         : (wide + half - 1 + (wide >> drop & 1)) >> drop;
            }
            // a carry out of the mantissa is one to the exponent
            code = static_cast<uint32_t>(
                std::min<int64_t>((int64_t{std::max(power, least) - least} << MantissaBits) +
                                      static_cast<int64_t>(kept),
                                  magnitude_bits + 1));
        }
        if(code > largest)
        {
            if(clamp || Kind == Specials::none) return sign | largest;
            return Kind == Specials::ieee ? sign | infinity : not_a_number(sign);
        }
        return Kind == Specials::negative_zero && code == 0 ? 0 : sign | code;
    }
};

using Half    = SmallFloat<5, 10, 15, Specials::ieee>;
using Fp8     = SmallFloat<4, 3, 7, Specials::all_ones>;
using Bf8     = SmallFloat<5, 2, 15, Specials::ieee>;
using Fp8Fnuz = SmallFloat<4, 3, 8, Specials::negative_zero>;
using Bf8Fnuz = SmallFloat<5, 2, 16, Specials::negative_zero>;
using Fp6     = SmallFloat<2, 3, 1, Specials::none>;
using Bf6     = SmallFloat<3, 2, 3, Specials::none>;
using Fp4     = SmallFloat<2, 1, 1, Specials::none>;

// The upper half of fp32.
struct BFloat16 : SmallFloat<8, 7, 127, Specials::ieee>
{
    static uint32_t to_float(uint32_t word) { return word << 16; }
};

// The same as numbers, fp16 in the way that loops over lanes can become vector instructions.
[[gnu::always_inline]] inline float value_of_half(uint32_t bits)
{ return std::bit_cast<float>(Half::to_float(bits)); }

// Rounds as the host does at the moment: to the nearest, or as HostRounding says.
[[gnu::always_inline]] inline uint32_t half_of_value(float value)
{
    const auto bits          = std::bit_cast<uint32_t>(value);
    const uint32_t sign      = bits & 0x80000000;
    const uint32_t magnitude = bits ^ sign;
    // adding 1.5 * 2^13 times the power of two of the value leaves the bits that a half has; with
    // its sign, so that rounding to zero does
    uint32_t exponent = magnitude & 0x7f800000;
    exponent          = exponent < 113U << 23 ? 113U << 23 : exponent;
    exponent          = exponent > 145U << 23 ? 145U << 23 : exponent;
    const auto magic  = std::bit_cast<float>((exponent + (13U << 23) + 0x400000) | sign);
    const float kept  = (value + magic) - magic;
    // overflows as the rounding mode says: to infinity, or to bits of which a half has the first
    const float bounded    = kept * 0x1p112f * 0x1p-112f;
    const uint32_t finite  = (std::bit_cast<uint32_t>(bounded * 0x1p-112f) & 0x7fffffff) >> 13;
    const uint32_t head    = (std::bit_cast<uint32_t>(bounded) & 0x7fffffff) >> 23;
    const uint32_t payload = magnitude >> 13 & 0x3ff;
    uint32_t half          = head == 255 ? 0x7c00 : finite;
    half = magnitude > 0x7f800000 ? 0x7c00 | payload | (payload == 0 ? 0x200 : 0) : half;
    return half | sign >> 16;
}

[[gnu::always_inline]] inline float value_of_bfloat16(uint32_t bits)
{ return std::bit_cast<float>(BFloat16::to_float(bits)); }

// fp16 of fp32 whatever the mode: `bias` is added to the bits that do not fit, `to_even`: and one
// where the last bit that fits is odd.
[[gnu::always_inline]] inline uint32_t
half_with_bias(float value, uint32_t bias, bool to_even, uint32_t overflow)
{
    const auto bits     = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    const uint32_t exponent = magnitude >> 23;
    // below the least normal number more bits go
    const uint32_t extra  = exponent < 113 ? std::min(113 - exponent, 18U) : 0;
    const uint32_t hidden = exponent != 0 ? 0x800000 : 0;
    const uint32_t significand =
        exponent < 113 ? (magnitude & 0x7fffff) | hidden : magnitude - (112U << 23);
    const uint32_t dropped = 13 + extra;
    const uint32_t to_tie  = to_even ? ((1U << extra) - 1) + (significand >> dropped & 1) : 0;
    uint32_t half          = (significand + (bias << extra) + to_tie) >> dropped;
    half                   = exponent >= 143 ? overflow : std::min(half, overflow);
    half                   = exponent == 255 ? 0x7c00 : half;
    half                   = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : half;
    return sign | half;
}

inline uint32_t half_to_nearest(float value) { return half_with_bias(value, 0xfff, true, 0x7c00); }
inline uint32_t half_towards_zero(float value) { return half_with_bias(value, 0, false, 0x7bff); }

// NaN become quiet ones.
inline uint32_t bfloat16_with_bias(float value, uint32_t bias)
{
    const auto bits          = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t special   = bits >> 16 | (magnitude > 0x7f800000 ? 0x40 : 0);
    return magnitude >= 0x7f800000 ? special : (bits + bias) >> 16;
}
inline uint32_t bfloat16_to_nearest(float value)
{ return bfloat16_with_bias(value, 0x7fff + (std::bit_cast<uint32_t>(value) >> 16 & 1)); }

} // namespace ckprof::emulator
