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

} // namespace ckprof::emulator
