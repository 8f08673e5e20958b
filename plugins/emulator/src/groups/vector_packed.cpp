// SPDX-License-Identifier: MIT
// Two values of a register, or of a pair of registers, at once.
#include <algorithm>

#include "groups/float_math.hpp"
#include "groups/half_math.hpp"
#include "groups/packed.hpp"
#include "groups/saturation.hpp"
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;

template <auto operation, typename T, size_t... s>
void part_of_halves(Wave& wave,
                    const Instruction& i,
                    unsigned part,
                    VectorRegister* result,
                    std::index_sequence<s...>)
{
    VectorRegister room[sizeof...(s)];
    (read_half(wave, i, s, part, Lane<T>::format, room[s]), ...);
    {
        const HostRounding rounding(wave.mode, Format::float16);
        CKPROF_INDEPENDENT_LANES
        for(int lane = 0; lane < lane_count; ++lane)
            result->lane[lane] = Lane<T>::low(operation(Lane<T>::from(room[s].lane[lane], 0)...));
    }
    modify_result(wave, i, Lane<T>::format, result);
}

template <auto operation, auto clamped, typename T, typename... A>
void halves(Wave& wave, const Instruction& i)
{
    VectorRegister results[2][2];
    for(unsigned part = 0; part < 2; ++part)
        if(i.clamp)
            part_of_halves<clamped, T>(
                wave, i, part, results[part], std::index_sequence_for<A...>{});
        else
            part_of_halves<operation, T>(
                wave, i, part, results[part], std::index_sequence_for<A...>{});
    for(int lane = 0; lane < lane_count; ++lane)
        results[0][0].lane[lane] |= results[1][0].lane[lane] << 16;
    merge(wave.result(i.destination), results[0][0], written_lanes(wave, i));
}

template <typename T, auto operation, auto clamped = operation>
constexpr Handler two = &halves<operation, clamped, T, u32, u32>;
template <typename T, auto operation, auto clamped = operation>
constexpr Handler three = &halves<operation, clamped, T, u32, u32, u32>;

template <typename T, auto exact>
constexpr Handler saturating = two<T,
                                   [](T a, T b) { return static_cast<T>(exact(a, b)); },
                                   [](T a, T b) { return saturated<T>(exact(a, b)); }>;
template <typename T>
constexpr Handler multiply_add =
    three<T,
          [](T a, T b, T c) { return static_cast<T>(int64_t{a} * b + c); },
          [](T a, T b, T c) { return saturated<T>(int64_t{a} * b + c); }>;

constexpr auto sum        = [](int64_t a, int64_t b) { return a + b; };
constexpr auto difference = [](int64_t a, int64_t b) { return a - b; };

template <bool largest, bool ieee>
F16 best(F16 a, F16 b)
{ return {extreme<largest, ieee>(a.value, b.value)}; }
template <bool largest>
F16 best3(F16 a, F16 b, F16 c)
{ return {extreme3_2019<largest>(a.value, b.value, c.value)}; }

void fused(Wave& wave, const Instruction& i)
{ (wave.mode.plain ? three<F16, &fused_half_to_nearest> : three<F16, &fused_half>)(wave, i); }

// A pair of fp32 values.
template <auto operation, size_t... s>
void pair_of_floats(Wave& wave, const Instruction& i, std::index_sequence<s...>)
{
    constexpr unsigned sources = sizeof...(s);
    const bool plain           = is_plain_pair(i, sources) && wave.mode.plain;
    VectorRegister results[2];
    for(unsigned part = 0; part < 2; ++part)
    {
        VectorRegister room[sources];
        const VectorRegister* values[] = {
            &wave.lanes(i.source[s], room[s], reads_upper(i, s, part) ? 1 : 0)...};
        if(!plain)
            for(unsigned n = 0; n < sources; ++n)
            {
                const uint32_t sign = negates(i, n, part) ? 0x80000000 : 0;
                for(int lane = 0; lane < lane_count; ++lane)
                    room[n].lane[lane] = values[n]->lane[lane] ^ sign;
                values[n] = &room[n];
                if(wave.mode.flush_32_inputs) flush_denormals(&room[n], Format::float32);
            }
        const HostRounding rounding(wave.mode, Format::float32);
        for(int lane = 0; lane < lane_count; ++lane)
            results[part].lane[lane] =
                std::bit_cast<u32>(operation(std::bit_cast<float>(values[s]->lane[lane])...));
    }
    for(unsigned part = 0; part < 2; ++part)
    {
        if(!plain)
        {
            VectorRegister two_registers[2] = {results[part], {}};
            modify_result(wave, i, Format::float32, two_registers);
            results[part] = two_registers[0];
        }
        write_lanes(wave, i.destination, results[part], part);
    }
}

template <auto operation, unsigned sources>
void floats(Wave& wave, const Instruction& i)
{ pair_of_floats<operation>(wave, i, std::make_index_sequence<sources>{}); }

void move_pair(Wave& wave, const Instruction& i)
{
    VectorRegister room[2];
    const VectorRegister first  = wave.lanes(i.source[0], room[0], i.op_sel & 1);
    const VectorRegister second = wave.lanes(i.source[1], room[1], i.op_sel >> 1 & 1);
    write_lanes(wave, i.destination, first);
    write_lanes(wave, i.destination, second, 1);
}

constexpr NamedHandler handlers[] = {
    {"v_pk_add_f32", &floats<[](float a, float b) { return a + b; }, 2>},
    {"v_pk_mul_f32", &floats<[](float a, float b) { return a * b; }, 2>},
    {"v_pk_fma_f32", &floats<[](float a, float b, float c) { return __builtin_fmaf(a, b, c); }, 3>},
    {"v_pk_mov_b32", &move_pair},

    {"v_pk_add_f16", two<F16, [](F16 a, F16 b) { return F16{a.value + b.value}; }>},
    {"v_pk_mul_f16", two<F16, [](F16 a, F16 b) { return F16{a.value * b.value}; }>},
    {"v_pk_fma_f16", &fused},
    {"v_pk_fmac_f16", &fused},
    {"v_pk_min_f16", &by_ieee_mode<two<F16, &best<false, true>>, two<F16, &best<false, false>>>},
    {"v_pk_max_f16", &by_ieee_mode<two<F16, &best<true, true>>, two<F16, &best<true, false>>>},
    {"v_pk_minimum3_f16", three<F16, &best3<false>>},
    {"v_pk_maximum3_f16", three<F16, &best3<true>>},

    {"v_pk_add_u16", saturating<u16, sum>},
    {"v_pk_add_i16", saturating<i16, sum>},
    {"v_pk_sub_u16", saturating<u16, difference>},
    {"v_pk_sub_i16", saturating<i16, difference>},
    {"v_pk_mad_u16", multiply_add<u16>},
    {"v_pk_mad_i16", multiply_add<i16>},
    {"v_pk_mul_lo_u16", two<u16, [](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); }>},
    {"v_pk_lshlrev_b16", two<u16, [](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); }>},
    {"v_pk_lshrrev_b16", two<u16, [](u16 a, u16 b) { return static_cast<u16>((b >> (a & 15))); }>},
    {"v_pk_ashrrev_i16", two<i16, [](i16 a, i16 b) { return static_cast<i16>((b >> (a & 15))); }>},
    {"v_pk_min_u16", two<u16, [](u16 a, u16 b) { return std::min(a, b); }>},
    {"v_pk_max_u16", two<u16, [](u16 a, u16 b) { return std::max(a, b); }>},
    {"v_pk_min_i16", two<i16, [](i16 a, i16 b) { return std::min(a, b); }>},
    {"v_pk_max_i16", two<i16, [](i16 a, i16 b) { return std::max(a, b); }>},
};

} // namespace

HandlerTable vector_packed_handlers() { return handlers; }

} // namespace ckprof::emulator
