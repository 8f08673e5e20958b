// SPDX-License-Identifier: MIT
// Conversions between types, but for those of 8 bits and less.
#include <algorithm>
#include <bit>
#include <cmath>

#include "groups/float_math.hpp"
#include "groups/saturation.hpp"
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;

// Towards zero; NaN becomes 0, values out of range the nearest that there is.
u32 unsigned_of(float value)
{
    const float bounded = value > 0 ? value : 0.0F;
    return bounded >= 0x1p32f ? ~0U : static_cast<u32>(bounded);
}
i32 signed_of(float value)
{
    if(is_nan(value)) return 0;
    if(value >= 0x1p31f) return INT32_MAX;
    return value <= -0x1p31f ? INT32_MIN : static_cast<i32>(value);
}
template <typename T>
T integer_of(double value)
{
    constexpr double least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    if(is_nan(value)) return 0;
    return value >= most    ? std::numeric_limits<T>::max()
           : value <= least ? std::numeric_limits<T>::min()
                            : static_cast<T>(value);
}

// From [0, 1] or [-1, 1] to all integers of 16 bits, to the nearest.
u16 normalized_unsigned(float value)
{ return integer_of<u16>(__builtin_roundeven(double{std::clamp(value, 0.0F, 1.0F)} * 65535)); }
i16 normalized_signed(float value)
{ return integer_of<i16>(__builtin_roundeven(double{std::clamp(value, -1.0F, 1.0F)} * 32767)); }

u32 packed(u32 low, u32 high) { return (low & 0xffff) | high << 16; }

float quiet(float value) { return is_nan(value) ? quieted(value) : value; }

// Sixteenths from -8 to 7.
float sixteenths(u32 value) { return static_cast<float>(static_cast<i32>(value << 28) >> 28) / 16; }

template <unsigned byte>
constexpr Handler from_byte =
    &lanewise<[](u32 a) { return static_cast<float>((a >> (8 * byte)) & 0xff); }>;

u32 with_byte(float value, u32 byte, u32 rest)
{
    const u32 shift = 8 * (byte & 3);
    return (rest & ~(255U << shift)) | u32{integer_of<uint8_t>(value)} << shift;
}

// The destination's byte of that number.
void accumulate_byte(Wave& wave, const Instruction& i)
{
    VectorRegister room[2];
    read_source(wave, i, 0, Format::float32, &room[0]);
    read_source(wave, i, 1, Format::bits32, &room[1]);
    const VectorRegister& before = wave.result(i.destination);
    for(int lane = 0; lane < lane_count; ++lane)
        room[0].lane[lane] = with_byte(
            std::bit_cast<float>(room[0].lane[lane]), room[1].lane[lane], before.lane[lane]);
    write_lanes(wave, i.destination, room[0]);
}

constexpr NamedHandler handlers[] = {
    {"v_cvt_f32_u32", &lanewise<[](u32 a) { return static_cast<float>(a); }>},
    {"v_cvt_f32_i32", &lanewise<[](i32 a) { return static_cast<float>(a); }>},
    {"v_cvt_u32_f32", &lanewise<&unsigned_of>},
    {"v_cvt_i32_f32", &lanewise<&signed_of>},
    {"v_cvt_rpi_i32_f32", &lanewise<[](float a) { return signed_of(std::floor(a + 0.5F)); }>},
    {"v_cvt_flr_i32_f32", &lanewise<[](float a) { return signed_of(std::floor(a)); }>},
    {"v_cvt_off_f32_i4", &lanewise<&sixteenths>},
    {"v_cvt_f32_ubyte0", from_byte<0>},
    {"v_cvt_f32_ubyte1", from_byte<1>},
    {"v_cvt_f32_ubyte2", from_byte<2>},
    {"v_cvt_f32_ubyte3", from_byte<3>},

    {"v_cvt_f64_u32", &lanewise<[](u32 a) { return static_cast<double>(a); }>},
    {"v_cvt_f64_i32", &lanewise<[](i32 a) { return static_cast<double>(a); }>},
    {"v_cvt_u32_f64", &lanewise<&integer_of<u32>>},
    {"v_cvt_i32_f64", &lanewise<&integer_of<i32>>},
    {"v_cvt_f32_f64", &lanewise<[](double a) { return static_cast<float>(a); }>},
    {"v_cvt_f64_f32", &lanewise<[](float a) { return static_cast<double>(a); }>},

    {"v_cvt_f16_f32", &lanewise<[](float a) { return F16{quiet(a)}; }>},
    {"v_cvt_f32_f16", &lanewise<[](F16 a) { return quiet(a.value); }>},
    {"v_cvt_f16_u16", &lanewise<[](u16 a) { return F16{static_cast<float>(a)}; }>},
    {"v_cvt_f16_i16", &lanewise<[](i16 a) { return F16{static_cast<float>(a)}; }>},
    {"v_cvt_u16_f16", &lanewise<[](F16 a) { return integer_of<u16>(a.value); }>},
    {"v_cvt_i16_f16", &lanewise<[](F16 a) { return integer_of<i16>(a.value); }>},
    {"v_cvt_norm_u16_f16", &lanewise<[](F16 a) { return normalized_unsigned(a.value); }>},
    {"v_cvt_norm_i16_f16", &lanewise<[](F16 a) { return normalized_signed(a.value); }>},
    {"v_cvt_f32_bf16", &lanewise<[](BF16 a) { return a.value; }>},

    {"v_cvt_pk_u16_u32",
     &lanewise<[](u32 a, u32 b) { return packed(saturated<u16>(a), saturated<u16>(b)); }>},
    {"v_cvt_pk_i16_i32", &lanewise<[](i32 a, i32 b) {
         return packed(static_cast<u16>(saturated<i16>(a)), static_cast<u16>(saturated<i16>(b)));
     }>},
    {"v_cvt_pknorm_u16_f32", &lanewise<[](float a, float b) {
         return packed(normalized_unsigned(a), normalized_unsigned(b));
     }>},
    {"v_cvt_pknorm_i16_f32", &lanewise<[](float a, float b) {
         return packed(static_cast<u16>(normalized_signed(a)),
                       static_cast<u16>(normalized_signed(b)));
     }>},
    {"v_cvt_pknorm_u16_f16", &lanewise<[](F16 a, F16 b) {
         return packed(normalized_unsigned(a.value), normalized_unsigned(b.value));
     }>},
    {"v_cvt_pknorm_i16_f16", &lanewise<[](F16 a, F16 b) {
         return packed(static_cast<u16>(normalized_signed(a.value)),
                       static_cast<u16>(normalized_signed(b.value)));
     }>},
    {"v_cvt_pkrtz_f16_f32", &lanewise<[](float a, float b) {
         return packed(half_towards_zero(a), half_towards_zero(b));
     }>},
    {"v_cvt_pk_f16_f32",
     &lanewise<[](float a, float b) { return packed(half_to_nearest(a), half_to_nearest(b)); }>},
    {"v_cvt_pk_bf16_f32", &lanewise<[](float a, float b) {
         return packed(bfloat16_to_nearest(a), bfloat16_to_nearest(b));
     }>},
    // random bits are added to those that do not fit
    {"v_cvt_sr_f16_f32", &lanewise<[](float a, u32 b) {
         return Kept<u16>{static_cast<u16>(half_with_bias(a, (b >> 19), false, 0x7c00))};
     }>},
    {"v_cvt_sr_bf16_f32", &lanewise<[](float a, u32 b) {
         return Kept<u16>{static_cast<u16>(bfloat16_with_bias(a, (b >> 16)))};
     }>},
    {"v_cvt_pk_u8_f32", &lanewise<&with_byte>},
    {"v_cvt_pkaccum_u8_f32", &accumulate_byte},
};

} // namespace

HandlerTable vector_convert_handlers() { return handlers; }

} // namespace ckprof::emulator
