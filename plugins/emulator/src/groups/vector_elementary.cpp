// SPDX-License-Identifier: MIT
// Reciprocals, square roots, exponentials, logarithms, sines and cosines. Results are those of fp64
// rounded once (fp64 ones: of the host's library); devices may differ by 1 unit in the last place,
// for fp64 reciprocals and reciprocal roots in all but the first 20 or so bits, which kernels
// refine.
#include <cmath>
#include <numbers>

#include "groups/float_math.hpp"
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

// fp32 denormals are zeros here, whatever the mode.
float flushed(float value)
{
    const auto bits = std::bit_cast<uint32_t>(value);
    return std::bit_cast<float>((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}

float reciprocal(float a) { return flushed(1 / flushed(a)); }

// Of revolutions.
double sine(double a)
{ return std::isfinite(a) ? std::sin(2 * std::numbers::pi * (a - std::nearbyint(a))) : NAN; }
double cosine(double a)
{ return std::isfinite(a) ? std::cos(2 * std::numbers::pi * (a - std::nearbyint(a))) : NAN; }
double reciprocal_root(double a) { return 1 / std::sqrt(a); }
double power_of_two(double a) { return std::exp2(a); }
double logarithm(double a) { return std::log2(a); }

template <double (*function)(double)>
constexpr Handler single =
    &lanewise<[](float a) { return flushed(static_cast<float>(function(flushed(a)))); }>;
template <double (*function)(double)>
constexpr Handler half = &lanewise<[](F16 a) { return F16::rounded(function(a.value)); }>;

constexpr NamedHandler handlers[] = {
    {"v_rcp_f32", &lanewise<&reciprocal>},
    {"v_rcp_iflag_f32", &lanewise<&reciprocal>},
    {"v_rsq_f32", single<&reciprocal_root>},
    {"v_sqrt_f32", &lanewise<[](float a) { return __builtin_sqrtf(a); }>},
    {"v_exp_f32", single<&power_of_two>},
    {"v_exp_legacy_f32", single<&power_of_two>},
    {"v_log_f32", single<&logarithm>},
    {"v_log_legacy_f32", single<&logarithm>},
    {"v_sin_f32", single<&sine>},
    {"v_cos_f32", single<&cosine>},

    {"v_rcp_f16", &lanewise<[](F16 a) { return F16{1 / a.value}; }>},
    {"v_rsq_f16", half<&reciprocal_root>},
    {"v_sqrt_f16", &lanewise<[](F16 a) { return F16{__builtin_sqrtf(a.value)}; }>},
    {"v_exp_f16", half<&power_of_two>},
    {"v_log_f16", half<&logarithm>},
    {"v_sin_f16", half<&sine>},
    {"v_cos_f16", half<&cosine>},

    {"v_rcp_f64", &lanewise<[](double a) { return 1 / a; }>},
    {"v_rsq_f64", &lanewise<&reciprocal_root>},
    {"v_sqrt_f64", &lanewise<[](double a) { return __builtin_sqrt(a); }>},
};

} // namespace

HandlerTable vector_elementary_handlers() { return handlers; }

} // namespace ckprof::emulator
