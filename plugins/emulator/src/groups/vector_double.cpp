// SPDX-License-Identifier: MIT
// Arithmetic of fp64.
#include <algorithm>
#include <array>

#include "groups/float_math.hpp"
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

template <auto with_ieee, auto without>
constexpr Handler by_mode = &by_ieee_mode<&lanewise<with_ieee>, &lanewise<without>>;

constexpr auto fma = [](double a, double b, double c) { return __builtin_fma(a, b, c); };

double scaled(double value, int32_t exponent)
{ return std::ldexp(value, std::clamp(exponent, -3000, 3000)); }

// 2/pi after the point, 64 bits each.
constexpr std::array<uint64_t, 19> two_over_pi = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

// 53 bits of 2/pi that matter for the reduction of an argument of this size; `segment` counts from
// the highest.
double bits_of_two_over_pi(double value, uint32_t segment)
{
    const auto exponent = static_cast<int>(std::bit_cast<uint64_t>(value) >> 52 & 0x7ff);
    unsigned shift      = (segment & 31) * 53;
    if(exponent > 1077) shift += static_cast<unsigned>(exponent - 1077);
    uint64_t bits = 0;
    for(unsigned n = shift; n < shift + 53; ++n)
    {
        const uint64_t word = n / 64 < two_over_pi.size() ? two_over_pi[n / 64] : 0;
        // the number has 1201 bits
        bits = bits << 1 | (n < 1201 ? word >> (63 - n % 64) & 1 : 0);
    }
    const int scale = -53 - static_cast<int>(shift) + (exponent >= 1968 ? 128 : 0);
    return std::ldexp(static_cast<double>(bits), scale);
}

constexpr NamedHandler handlers[] = {
    {"v_add_f64", &lanewise<[](double a, double b) { return a + b; }>},
    {"v_mul_f64", &lanewise<[](double a, double b) { return a * b; }>},
    {"v_fma_f64", &lanewise<fma>},
    {"v_fmac_f64", &lanewise<fma>},
    {"v_min_f64", by_mode<&extreme<false, true, double>, &extreme<false, false, double>>},
    {"v_max_f64", by_mode<&extreme<true, true, double>, &extreme<true, false, double>>},
    {"v_trunc_f64", &lanewise<[](double a) { return __builtin_trunc(a); }>},
    {"v_ceil_f64", &lanewise<[](double a) { return __builtin_ceil(a); }>},
    {"v_floor_f64", &lanewise<[](double a) { return __builtin_floor(a); }>},
    {"v_rndne_f64", &lanewise<[](double a) { return __builtin_roundeven(a); }>},
    {"v_fract_f64", &lanewise<[](double a) { return fraction_of(a, 0x1.fffffffffffffp-1); }>},
    {"v_frexp_mant_f64", &lanewise<&significand_of<double>>},
    {"v_frexp_exp_i32_f64", &lanewise<&exponent_of<double>>},
    {"v_ldexp_f64", &lanewise<&scaled>},
    {"v_trig_preop_f64", &lanewise<&bits_of_two_over_pi>},
};

} // namespace

HandlerTable vector_double_handlers() { return handlers; }

} // namespace ckprof::emulator
