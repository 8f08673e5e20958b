// SPDX-License-Identifier: MIT
// Conversions between types.
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

// Towards zero; NaN becomes 0, values out of range the nearest that there is.
uint32_t unsigned_of(float value)
{
    if(!(value > 0)) return 0;
    return value >= 0x1p32f ? ~0U : static_cast<uint32_t>(value);
}

int32_t signed_of(float value)
{
    if(value != value) return 0;
    if(value >= 0x1p31f) return INT32_MAX;
    return value <= -0x1p31f ? INT32_MIN : static_cast<int32_t>(value);
}

constexpr NamedHandler handlers[] = {
    {"v_cvt_f32_u32", &lanewise<[](uint32_t a) { return static_cast<float>(a); }>},
    {"v_cvt_f32_i32", &lanewise<[](int32_t a) { return static_cast<float>(a); }>},
    {"v_cvt_u32_f32", &lanewise<&unsigned_of>},
    {"v_cvt_i32_f32", &lanewise<&signed_of>},
    {"v_cvt_f16_f32", &lanewise<[](float a) { return F16{a}; }>},
    {"v_cvt_f32_f16", &lanewise<[](F16 a) { return a.value; }>},
};

} // namespace

HandlerTable vector_convert_handlers() { return handlers; }

} // namespace ckprof::emulator
