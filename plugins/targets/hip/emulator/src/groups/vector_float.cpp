// SPDX-License-Identifier: MIT
// Arithmetic of fp32.
#include <cmath>

#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

constexpr NamedHandler handlers[] = {
    {"v_add_f32", &lanewise<[](float a, float b) { return a + b; }>},
    {"v_sub_f32", &lanewise<[](float a, float b) { return a - b; }>},
    {"v_subrev_f32", &lanewise<[](float a, float b) { return b - a; }>},
    {"v_mul_f32", &lanewise<[](float a, float b) { return a * b; }>},
    {"v_fma_f32", &lanewise<[](float a, float b, float c) { return __builtin_fmaf(a, b, c); }>},
    {"v_fmac_f32", &lanewise<[](float a, float b, float c) { return __builtin_fmaf(a, b, c); }>},
    {"v_rcp_f32", &lanewise<[](float a) { return 1 / a; }>},
    {"v_rcp_iflag_f32", &lanewise<[](float a) { return 1 / a; }>},
};

} // namespace

HandlerTable vector_float_handlers() { return handlers; }

} // namespace ckprof::emulator
