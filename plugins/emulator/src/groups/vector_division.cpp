// SPDX-License-Identifier: MIT
// Steps of divisions: operands are scaled away from overflow and denormals, the quotient is refined
// by fused multiply-adds, and special cases are put right at the end.
#include <limits>

#include "groups/float_math.hpp"
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

template <typename T>
struct Limits;
template <>
struct Limits<float>
{
    static constexpr int far_apart = 96, tiny = 23, scale = 64, underflow = 150, bias = 127;
};
template <>
struct Limits<double>
{
    static constexpr int far_apart = 768, tiny = 53, scale = 128, underflow = 1075, bias = 1023;
};

// With its bias.
template <typename T>
int exponent_field(T value)
{
    constexpr int last = sizeof(T) == 8 ? 0x7ff : 0xff;
    return static_cast<int>(std::bit_cast<BitsOf<T>>(value) >> fraction_bits<T>) & last;
}

template <typename T>
bool is_denormal(T value)
{ return value != 0 && exponent_field(value) == 0; }

// A power of two as large as an exponent.
template <typename T>
T power(int exponent)
{ return std::bit_cast<T>(static_cast<BitsOf<T>>(exponent + Limits<T>::bias) << fraction_bits<T>); }

// `value` is the denominator or the numerator; the bit says that the quotient has to be scaled
// back.
template <typename T>
T scaled(T value, T denominator, T numerator, bool& scale_back)
{
    using L    = Limits<T>;
    scale_back = false;
    if(numerator == 0 || denominator == 0) return std::numeric_limits<T>::quiet_NaN();
    const T up = power<T>(L::scale), down = power<T>(-L::scale);
    const bool inverse_denormal  = is_denormal(1 / denominator);
    const bool quotient_denormal = is_denormal(numerator / denominator);
    if(exponent_field(numerator) - exponent_field(denominator) >= L::far_apart)
    {
        scale_back = true;
        return value == denominator ? value * up : value;
    }
    if(is_denormal(denominator)) return value * up;
    if(inverse_denormal && quotient_denormal)
    {
        // down, unlike what the document says: upwards it would overflow
        scale_back = true;
        return value == denominator ? value * down : value;
    }
    if(inverse_denormal) return value * down;
    if(quotient_denormal)
    {
        scale_back = true;
        return value == numerator ? value * up : value;
    }
    return exponent_field(numerator) <= L::tiny ? value * up : value;
}

template <typename T>
void scale_division(Wave& wave, const Instruction& i)
{
    constexpr Format format = Lane<T>::format;
    VectorRegister room[3][2], result[2];
    for(unsigned s = 0; s < 3; ++s) read_source(wave, i, s, format, room[s]);
    const auto value = [&](unsigned s, int lane) {
        return Lane<T>::from(room[s][0].lane[lane], room[s][1].lane[lane]);
    };
    alignas(64) uint8_t flags[lane_count];
    for(int lane = 0; lane < lane_count; ++lane)
    {
        bool scale_back      = false;
        const T scaled_one   = scaled(value(0, lane), value(1, lane), value(2, lane), scale_back);
        flags[lane]          = scale_back ? 1 : 0;
        result[0].lane[lane] = Lane<T>::low(scaled_one);
        if constexpr(dwords_of(format) == 2) result[1].lane[lane] = Lane<T>::high(scaled_one);
    }
    write_result(wave, i, format, false, result, wave.exec());
    wave.write(i.scalar_destination, mask_of(flags) & wave.exec());
}

template <typename T>
void fuse_division(Wave& wave, const Instruction& i)
{
    constexpr Format format = Lane<T>::format;
    VectorRegister room[3][2], result[2];
    for(unsigned s = 0; s < 3; ++s) read_source(wave, i, s, format, room[s]);
    // what scale_division did is undone: large quotients were made smaller, small ones larger
    const T up = power<T>(Limits<T>::scale), down = power<T>(-Limits<T>::scale);
    const LaneMask vcc = wave.vcc();
    {
        const HostRounding rounding(wave.mode, format);
        for(int lane = 0; lane < lane_count; ++lane)
        {
            T value[3];
            for(unsigned s = 0; s < 3; ++s)
                value[s] = Lane<T>::from(room[s][0].lane[lane], room[s][1].lane[lane]);
            const T fused        = std::fma(value[0], value[1], value[2]);
            const bool large     = exponent_field(value[2]) > Limits<T>::bias;
            const T quotient     = (vcc >> lane & 1) != 0 ? fused * (large ? up : down) : fused;
            result[0].lane[lane] = Lane<T>::low(quotient);
            if constexpr(dwords_of(format) == 2) result[1].lane[lane] = Lane<T>::high(quotient);
        }
    }
    write_result(wave, i, format, false, result, wave.exec());
}

// Cases that need no quotient, and the sign.
template <typename T>
T special_quotient(T quotient, T denominator, T numerator)
{
    constexpr T infinity = std::numeric_limits<T>::infinity();
    const bool negative  = is_negative(denominator) != is_negative(numerator);
    const auto with_sign = [&](T value) { return negative ? -value : value; };
    const T below = std::fabs(denominator), above = std::fabs(numerator);
    if(is_nan(numerator)) return quieted(numerator);
    if(is_nan(denominator)) return quieted(denominator);
    if((below == 0 && above == 0) || (below == infinity && above == infinity))
        return -std::numeric_limits<T>::quiet_NaN();
    if(below == 0 || above == infinity) return with_sign(infinity);
    if(below == infinity || above == 0) return with_sign(0);
    // what overflows on the way ends as NaN
    return with_sign(is_nan(quotient) ? infinity : std::fabs(quotient));
}

template <typename T>
T fixed_quotient(T quotient, T denominator, T numerator)
{
    const bool underflow =
        exponent_field(numerator) - exponent_field(denominator) < -Limits<T>::underflow;
    return special_quotient(underflow ? T{0} : quotient, denominator, numerator);
}

F16 fixed_half(F16 quotient, F16 denominator, F16 numerator)
{ return {special_quotient(quotient.value, denominator.value, numerator.value)}; }

constexpr NamedHandler handlers[] = {
    {"v_div_scale_f32", &scale_division<float>},
    {"v_div_scale_f64", &scale_division<double>},
    {"v_div_fmas_f32", &fuse_division<float>},
    {"v_div_fmas_f64", &fuse_division<double>},
    {"v_div_fixup_f32", &lanewise<&fixed_quotient<float>>},
    {"v_div_fixup_f64", &lanewise<&fixed_quotient<double>>},
    {"v_div_fixup_legacy_f16", &lanewise<&fixed_half>},
    {"v_div_fixup_f16",
     &lanewise<[](F16 a, F16 b, F16 c) { return Kept<F16>{fixed_half(a, b, c)}; }>},
};

} // namespace

HandlerTable vector_division_handlers() { return handlers; }

} // namespace ckprof::emulator
