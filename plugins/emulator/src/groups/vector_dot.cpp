// SPDX-License-Identifier: MIT
// Products of short vectors within a lane, and fused multiply-adds of mixed precision.
#include <limits>

#include "groups/packed.hpp"
#include "groups/saturation.hpp"
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

using u32 = uint32_t;
using i32 = int32_t;

// Sum of products of elements of so many bits, plus the third source.
template <typename Total, unsigned bits>
int64_t dot(u32 a, u32 b, Total c)
{
    constexpr unsigned unused = 32 - bits;
    int64_t total             = c;
    for(unsigned first = 0; first < 32; first += bits)
    {
        const u32 left = a << (unused - first), right = b << (unused - first);
        if constexpr(std::is_signed_v<Total>)
            total +=
                int64_t{static_cast<i32>(left) >> unused} * (static_cast<i32>(right) >> unused);
        else
            total += int64_t{left >> unused} * (right >> unused);
    }
    return total;
}

template <typename Total, unsigned bits>
constexpr Handler integers =
    &lanewise<[](u32 a, u32 b, Total c) { return static_cast<Total>(dot<Total, bits>(a, b, c)); },
              [](u32 a, u32 b, Total c) { return saturated<Total>(dot<Total, bits>(a, b, c)); }>;

// Halves as op_sel says.
template <typename Total>
void integer_pairs(Wave& wave, const Instruction& i)
{
    VectorRegister room[4], rest;
    for(unsigned s = 0; s < 2; ++s)
    {
        read_half(wave, i, s, 0, Format::bits16, room[2 * s]);
        read_half(wave, i, s, 1, Format::bits16, room[2 * s + 1]);
    }
    const VectorRegister& c = wave.lanes(i.source[2], rest);
    VectorRegister result;
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const u32 a         = room[0].lane[lane] | room[1].lane[lane] << 16;
        const u32 b         = room[2].lane[lane] | room[3].lane[lane] << 16;
        const int64_t exact = dot<Total, 16>(a, b, static_cast<Total>(c.lane[lane]));
        result.lane[lane] =
            static_cast<u32>(i.clamp ? saturated<Total>(exact) : static_cast<Total>(exact));
    }
    write_lanes(wave, i.destination, result);
}

enum class Order : uint8_t
{
    sum_first, // the third source, then the products
    sum_last,
};

// Products are exact, each sum is rounded to fp32.
template <typename T, Order order>
float dot2(T a0, T a1, T b0, T b1, float c)
{
    const float first = a0.value * b0.value, second = a1.value * b1.value;
    return order == Order::sum_first ? (c + first) + second : (first + second) + c;
}

template <typename T, Order order>
void float_pairs(Wave& wave, const Instruction& i)
{
    constexpr Format format = Lane<T>::format;
    VectorRegister room[4], sum[2], result[2];
    for(unsigned s = 0; s < 2; ++s)
    {
        read_half(wave, i, s, 0, format, room[2 * s]);
        read_half(wave, i, s, 1, format, room[2 * s + 1]);
    }
    read_source(wave, i, 2, Format::float32, sum);
    const auto value = [&](unsigned n, int lane) { return Lane<T>::from(room[n].lane[lane], 0); };
    {
        const HostRounding rounding(wave.mode, Format::float32);
        for(int lane = 0; lane < lane_count; ++lane)
            result[0].lane[lane] =
                std::bit_cast<u32>(dot2<T, order>(value(0, lane),
                                                  value(1, lane),
                                                  value(2, lane),
                                                  value(3, lane),
                                                  std::bit_cast<float>(sum[0].lane[lane])));
    }
    modify_result(wave, i, Format::float32, result);
    write_lanes(wave, i.destination, result[0]);
}

template <typename T, Order order>
float short_dot2(u32 a, u32 b, float c)
{
    return dot2<T, order>(Lane<T>::from(a & 0xffff, 0),
                          Lane<T>::from(a >> 16, 0),
                          Lane<T>::from(b & 0xffff, 0),
                          Lane<T>::from(b >> 16, 0),
                          c);
}

// A source of mixed precision: fp16 if op_sel_high has its bit, else fp32; the bits that negate
// upper halves elsewhere take the absolute value.
void read_mixed(const Wave& wave, const Instruction& i, unsigned source, VectorRegister& to)
{
    const VectorRegister& raw = wave.lanes(i.source[source], to);
    const bool half           = (i.op_sel_high >> source & 1) != 0;
    const unsigned shift      = reads_upper(i, source, 0) ? 16 : 0;
    const bool absolute       = (i.negate_high >> source & 1) != 0;
    const u32 sign            = half ? 0x8000 : 0x80000000;
    for(int lane = 0; lane < lane_count; ++lane)
    {
        u32 bits = half ? raw.lane[lane] >> shift & 0xffff : raw.lane[lane];
        if(absolute) bits &= ~sign;
        if(i.source[source].negate) bits ^= sign;
        to.lane[lane] = bits;
    }
    const bool flushes = half ? wave.mode.flush_64_inputs : wave.mode.flush_32_inputs;
    if(flushes) flush_denormals(&to, half ? Format::float16 : Format::float32);
    if(half)
        for(u32& lane : to.lane) lane = std::bit_cast<u32>(value_of_half(lane));
}

enum class Destination : uint8_t
{
    dword,
    lower,
    upper,
};

template <Destination destination>
void fused_mix(Wave& wave, const Instruction& i)
{
    VectorRegister room[3], result[2];
    for(unsigned s = 0; s < 3; ++s) read_mixed(wave, i, s, room[s]);
    const auto value = [&](unsigned s, int lane) {
        return std::bit_cast<float>(room[s].lane[lane]);
    };
    constexpr bool half = destination != Destination::dword;
    {
        const HostRounding rounding(wave.mode, Format::float32);
        for(int lane = 0; lane < lane_count; ++lane)
            result[0].lane[lane] =
                std::bit_cast<u32>(__builtin_fmaf(value(0, lane), value(1, lane), value(2, lane)));
    }
    if constexpr(half)
    {
        const HostRounding rounding(wave.mode, Format::float16);
        for(u32& lane : result[0].lane) lane = half_of_value(std::bit_cast<float>(lane));
    }
    modify_result(wave, i, half ? Format::float16 : Format::float32, result);
    const VectorRegister& before = wave.result(i.destination);
    if constexpr(half)
        for(int lane = 0; lane < lane_count; ++lane)
            result[0].lane[lane] = destination == Destination::lower
                                       ? (before.lane[lane] & 0xffff0000) | result[0].lane[lane]
                                       : (before.lane[lane] & 0xffff) | result[0].lane[lane] << 16;
    write_lanes(wave, i.destination, result[0]);
}

constexpr NamedHandler handlers[] = {
    {"v_dot2_i32_i16", &integer_pairs<i32>},
    {"v_dot2_u32_u16", &integer_pairs<u32>},
    {"v_dot4_i32_i8", integers<i32, 8>},
    {"v_dot4_u32_u8", integers<u32, 8>},
    {"v_dot8_i32_i4", integers<i32, 4>},
    {"v_dot8_u32_u4", integers<u32, 4>},
    {"v_dot2c_i32_i16", integers<i32, 16>},
    {"v_dot4c_i32_i8", integers<i32, 8>},
    {"v_dot8c_i32_i4", integers<i32, 4>},

    {"v_dot2_f32_f16", &float_pairs<F16, Order::sum_first>},
    {"v_dot2_f32_bf16", &float_pairs<BF16, Order::sum_last>},
    {"v_dot2c_f32_f16", &lanewise<&short_dot2<F16, Order::sum_first>>},
    {"v_dot2c_f32_bf16", &lanewise<&short_dot2<BF16, Order::sum_first>>},

    {"v_fma_mix_f32", &fused_mix<Destination::dword>},
    {"v_fma_mixlo_f16", &fused_mix<Destination::lower>},
    {"v_fma_mixhi_f16", &fused_mix<Destination::upper>},
};

} // namespace

HandlerTable vector_dot_handlers() { return handlers; }

} // namespace ckprof::emulator
