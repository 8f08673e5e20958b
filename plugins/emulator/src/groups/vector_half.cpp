// SPDX-License-Identifier: MIT
// Arithmetic of fp16.
#include <algorithm>

#include "groups/float_math.hpp"
#include "groups/half_math.hpp"
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

template <F16 (*fused)(F16, F16, F16)>
Kept<F16> kept(F16 a, F16 b, F16 c)
{ return {fused(a, b, c)}; }

// By the mode.
template <Handler to_nearest, Handler rounded>
void fused(Wave& wave, const Instruction& i)
{ (wave.mode.plain ? to_nearest : rounded)(wave, i); }

// Two roundings.
F16 mad(F16 a, F16 b, F16 c) { return {value_of_half(half_of_value(a.value * b.value)) + c.value}; }

Kept<F16> mad_kept(F16 a, F16 b, F16 c) { return {mad(a, b, c)}; }

template <bool largest, bool ieee>
F16 best(F16 a, F16 b)
{ return {extreme<largest, ieee>(a.value, b.value)}; }
template <bool largest, bool ieee>
Kept<F16> best3(F16 a, F16 b, F16 c)
{ return {{extreme3<largest, ieee>(a.value, b.value, c.value)}}; }
template <bool ieee>
Kept<F16> middle(F16 a, F16 b, F16 c)
{ return {{median<ieee>(a.value, b.value, c.value)}}; }

template <auto with_ieee, auto without>
constexpr Handler by_mode = &by_ieee_mode<&lanewise<with_ieee>, &lanewise<without>>;

// Beyond these exponents results are infinite or below half of the least number anyway.
F16 scaled(F16 value, int16_t exponent)
{
    const int bounded = std::clamp<int>(exponent, -60, 60);
    return {value.value * std::bit_cast<float>(static_cast<uint32_t>(bounded + 127) << 23)};
}

constexpr NamedHandler handlers[] = {
    {"v_add_f16", &lanewise<[](F16 a, F16 b) { return F16{a.value + b.value}; }>},
    {"v_sub_f16", &lanewise<[](F16 a, F16 b) { return F16{a.value - b.value}; }>},
    {"v_subrev_f16", &lanewise<[](F16 a, F16 b) { return F16{b.value - a.value}; }>},
    {"v_mul_f16", &lanewise<[](F16 a, F16 b) { return F16{a.value * b.value}; }>},
    {"v_fma_f16", &fused<&lanewise<&kept<fused_half_to_nearest>>, &lanewise<&kept<fused_half>>>},
    {"v_fma_legacy_f16", &fused<&lanewise<&fused_half_to_nearest>, &lanewise<&fused_half>>},
    {"v_mad_f16", &lanewise<&mad_kept>},
    {"v_mad_legacy_f16", &lanewise<&mad>},
    {"v_mac_f16", &lanewise<&mad>},
    {"v_madmk_f16", &lanewise<&mad>},
    {"v_madak_f16", &lanewise<&mad>},

    {"v_min_f16", by_mode<&best<false, true>, &best<false, false>>},
    {"v_max_f16", by_mode<&best<true, true>, &best<true, false>>},
    {"v_min3_f16", by_mode<&best3<false, true>, &best3<false, false>>},
    {"v_max3_f16", by_mode<&best3<true, true>, &best3<true, false>>},
    {"v_med3_f16", by_mode<&middle<true>, &middle<false>>},

    {"v_trunc_f16", &lanewise<[](F16 a) { return F16{__builtin_truncf(a.value)}; }>},
    {"v_ceil_f16", &lanewise<[](F16 a) { return F16{__builtin_ceilf(a.value)}; }>},
    {"v_floor_f16", &lanewise<[](F16 a) { return F16{__builtin_floorf(a.value)}; }>},
    {"v_rndne_f16", &lanewise<[](F16 a) { return F16{__builtin_roundevenf(a.value)}; }>},
    {"v_fract_f16", &lanewise<[](F16 a) { return F16{fraction_of(a.value, 0x1.ffcp-1f)}; }>},
    {"v_frexp_mant_f16", &lanewise<[](F16 a) { return F16{significand_of(a.value)}; }>},
    {"v_frexp_exp_i16_f16",
     &lanewise<[](F16 a) { return static_cast<int16_t>(exponent_of(a.value)); }>},
    {"v_ldexp_f16", &lanewise<&scaled>},
    {"v_pack_b32_f16",
     &lanewise<[](F16 a, F16 b) { return half_of_value(a.value) | half_of_value(b.value) << 16; }>},
};

} // namespace

HandlerTable vector_half_handlers() { return handlers; }

} // namespace ckprof::emulator
