// SPDX-License-Identifier: MIT
// Arithmetic of fp32.
#include <algorithm>

#include "groups/float_math.hpp"
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

template <auto with_ieee, auto without>
constexpr Handler by_mode = &by_ieee_mode<&lanewise<with_ieee>, &lanewise<without>>;

// 0 times anything is 0.
float legacy_product(float a, float b) { return a == 0 || b == 0 ? 0.0F : a * b; }

float flushed(float value)
{
    const auto bits = std::bit_cast<uint32_t>(value);
    return std::bit_cast<float>((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}

// Two roundings, and no denormals whatever the mode.
float mad(float a, float b, float c)
{
    const float product = flushed(flushed(a) * flushed(b));
    return flushed(product + flushed(c));
}

float legacy_mad(float a, float b, float c)
{ return a == 0 || b == 0 ? flushed(0.0F + flushed(c)) : mad(a, b, c); }

// One rounding: exponents of 300 and more change no result.
float scaled(float value, int32_t exponent)
{
    const int32_t bounded = std::clamp(exponent, -300, 300);
    const auto power      = std::bit_cast<double>(static_cast<uint64_t>(bounded + 1023) << 52);
    return static_cast<float>(value * power);
}

// Faces of a cube: which coordinate is the largest. 0 x, 1 y, 2 z.
int major_axis(float x, float y, float z)
{
    x = std::fabs(x), y = std::fabs(y), z = std::fabs(z);
    return z >= x && z >= y ? 2 : y >= x ? 1 : 0;
}

float cube_face(float x, float y, float z)
{
    const int axis    = major_axis(x, y, z);
    const float major = axis == 2 ? z : axis == 1 ? y : x;
    return static_cast<float>(2 * axis + (major < 0 ? 1 : 0));
}

float cube_s(float x, float y, float z)
{
    switch(major_axis(x, y, z))
    {
    case 2: return z < 0 ? -x : x;
    case 1: return x;
    default: return x < 0 ? z : -z;
    }
}

float cube_t(float x, float y, float z) { return major_axis(x, y, z) != 1 ? -y : y < 0 ? -z : z; }

float cube_major(float x, float y, float z)
{
    const int axis = major_axis(x, y, z);
    return 2 * (axis == 2 ? z : axis == 1 ? y : x);
}

constexpr auto fma = [](float a, float b, float c) { return __builtin_fmaf(a, b, c); };

constexpr NamedHandler handlers[] = {
    {"v_add_f32", &lanewise<[](float a, float b) { return a + b; }>},
    {"v_sub_f32", &lanewise<[](float a, float b) { return a - b; }>},
    {"v_subrev_f32", &lanewise<[](float a, float b) { return b - a; }>},
    {"v_mul_f32", &lanewise<[](float a, float b) { return a * b; }>},
    {"v_mul_legacy_f32", &lanewise<&legacy_product>},
    {"v_fma_f32", &lanewise<fma>},
    {"v_fmac_f32", &lanewise<fma>},
    {"v_fmamk_f32", &lanewise<fma>},
    {"v_fmaak_f32", &lanewise<fma>},
    {"v_mad_f32", &lanewise<&mad>},
    {"v_mac_f32", &lanewise<&mad>},
    {"v_madmk_f32", &lanewise<&mad>},
    {"v_madak_f32", &lanewise<&mad>},
    {"v_mad_legacy_f32", &lanewise<&legacy_mad>},

    {"v_min_f32", by_mode<&extreme<false, true, float>, &extreme<false, false, float>>},
    {"v_max_f32", by_mode<&extreme<true, true, float>, &extreme<true, false, float>>},
    {"v_min3_f32", by_mode<&extreme3<false, true, float>, &extreme3<false, false, float>>},
    {"v_max3_f32", by_mode<&extreme3<true, true, float>, &extreme3<true, false, float>>},
    {"v_med3_f32", by_mode<&median<true, float>, &median<false, float>>},
    {"v_minimum3_f32", &lanewise<&extreme3_2019<false, float>>},
    {"v_maximum3_f32", &lanewise<&extreme3_2019<true, float>>},

    {"v_trunc_f32", &lanewise<[](float a) { return __builtin_truncf(a); }>},
    {"v_ceil_f32", &lanewise<[](float a) { return __builtin_ceilf(a); }>},
    {"v_floor_f32", &lanewise<[](float a) { return __builtin_floorf(a); }>},
    {"v_rndne_f32", &lanewise<[](float a) { return __builtin_roundevenf(a); }>},
    {"v_fract_f32", &lanewise<[](float a) { return fraction_of(a, 0x1.fffffep-1f); }>},
    {"v_frexp_mant_f32", &lanewise<&significand_of<float>>},
    {"v_frexp_exp_i32_f32", &lanewise<&exponent_of<float>>},
    {"v_ldexp_f32", &lanewise<&scaled>},

    {"v_cubeid_f32", &lanewise<&cube_face>},
    {"v_cubesc_f32", &lanewise<&cube_s>},
    {"v_cubetc_f32", &lanewise<&cube_t>},
    {"v_cubema_f32", &lanewise<&cube_major>},
};

} // namespace

HandlerTable vector_float_handlers() { return handlers; }

} // namespace ckprof::emulator
