// SPDX-License-Identifier: MIT
// Conversions from and to floating-point formats of 4 to 8 bits, those of gfx950 with a scale or
// with random rounding, and to bf16.
#include <cmath>

#include "groups/small_float.hpp"
#include "groups/vector_modifiers.hpp"
#include "isa/decoder.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

struct Float32
{
    static constexpr unsigned bits = 32;
    static uint32_t to_float(uint32_t word) { return word; }
    static uint32_t from_float(uint32_t word, int exponent, const uint32_t*, bool)
    { return std::bit_cast<uint32_t>(std::ldexp(std::bit_cast<float>(word), -exponent)); }
};

enum Options : unsigned
{
    none        = 0,
    scaled      = 1, // the last source is fp32, whose exponent counts
    random_bits = 2, // the second source is added below the last bit kept
    two_sources = 4, // elements are taken from the first and the second source in turn
};

template <typename T>
constexpr bool is_small = T::bits <= 8;

template <typename T>
constexpr bool crosses_words = 32 % T::bits != 0;

// The first bit of the elements within a register: OP_SEL.
template <typename From, unsigned count>
unsigned first_source_bit(const Instruction& i)
{
    if constexpr(is_small<From> && From::bits * count == 8) return 8 * (i.op_sel & 3);
    if constexpr(is_small<From> && From::bits * count == 16) return 16 * (i.op_sel & 1);
    return 0;
}

template <typename To, unsigned count>
unsigned first_result_bit(const Instruction& i)
{
    if constexpr(To::bits * count == 8) return 8 * (i.op_sel >> 2);
    if constexpr(To::bits * count == 16) return 16 * (i.op_sel >> 3);
    return 0;
}

// The generator of v_prng_b32.
constexpr uint32_t next_random(uint32_t state) { return state << 1 ^ (state >> 31 != 0 ? 197 : 0); }

constexpr uint32_t low_bits(unsigned count)
{ return count == 32 ? ~uint32_t{0} : (1U << count) - 1; }

struct Scales
{ int exponent[lane_count]; };

// A scale is infinity or NaN where this is the exponent.
constexpr int no_scale = 128;

Scales scales_of(const Wave& wave, const Instruction& i)
{
    VectorRegister room;
    const Operand& operand = i.source[2].kind != Operand::Kind::none ? i.source[2] : i.source[1];
    const VectorRegister& lanes = wave.lanes(operand, room);
    Scales scales;
    for(int lane = 0; lane < lane_count; ++lane)
        scales.exponent[lane] = static_cast<int>(lanes.lane[lane] >> 23 & 0xff) - 127;
    return scales;
}

template <typename From, typename To, unsigned count, unsigned options = none>
void convert(Wave& wave, const Instruction& i)
{
    constexpr bool interleaved   = (options & two_sources) != 0;
    constexpr unsigned words_in  = interleaved ? (count + 1) / 2 : (From::bits * count + 31) / 32;
    constexpr unsigned words_out = (To::bits * count + 31) / 32;

    VectorRegister room[2];
    const VectorRegister* in[interleaved ? 2 : 1][words_in];
    for(unsigned source = 0; source < (interleaved ? 2 : 1); ++source)
        if constexpr(words_in == 1)
        {
            // bytes, words and other lanes; signs are changed below
            read_source(wave, i, source, Format::bits32, &room[source]);
            in[source][0] = &room[source];
        }
        else
            for(unsigned word = 0; word < words_in; ++word)
                in[source][word] = &wave.lanes(i.source[source], room[source], word);
    VectorRegister random;
    if constexpr((options & random_bits) != 0) random = wave.lanes(i.source[1], random);
    Scales scales{};
    if constexpr((options & scaled) != 0) scales = scales_of(wave, i);
    // a scale divides what becomes smaller, and multiplies what becomes larger
    constexpr int direction = is_small<To> ? 1 : -1;

    VectorRegister out[words_out];
    if constexpr(To::bits * count < 32)
        out[0] = wave.result(i.destination);
    else
        for(VectorRegister& word : out) fill(word, 0);
    const unsigned from_bit = first_source_bit<From, count>(i);
    const unsigned to_bit   = first_result_bit<To, count>(i);
    for(unsigned n = 0; n < count; ++n)
    {
        const unsigned source = interleaved ? n % 2 : 0;
        const unsigned from   = from_bit + (interleaved ? n / 2 : n) * From::bits;
        const unsigned to     = to_bit + n * To::bits;
        const bool absolute   = From::bits == 32 && i.source[source].absolute;
        const bool negate     = From::bits == 32 && i.source[source].negate;
        for(int lane = 0; lane < lane_count; ++lane)
        {
            uint64_t wide = in[source][from / 32]->lane[lane];
            if constexpr(crosses_words<From>)
                if(from % 32 + From::bits > 32)
                    wide |= uint64_t{in[source][from / 32 + 1]->lane[lane]} << 32;
            uint32_t value = From::to_float(static_cast<uint32_t>(wide >> from % 32));
            if(absolute) value &= 0x7fffffff;
            if(negate) value ^= 0x80000000;
            if((options & scaled) != 0 && scales.exponent[lane] == no_scale) value = 0x7fc00000;
            const uint32_t code =
                To::from_float(value,
                               direction * scales.exponent[lane],
                               (options & random_bits) != 0 ? &random.lane[lane] : nullptr,
                               wave.mode.clamp_overflow);
            const uint64_t mask = uint64_t{low_bits(To::bits)} << to % 32;
            const uint64_t bits = uint64_t{code} << to % 32;
            uint32_t* low       = &out[to / 32].lane[lane];
            *low                = static_cast<uint32_t>((*low & ~mask) | bits);
            if constexpr(crosses_words<To>)
                if(to % 32 + To::bits > 32)
                    out[to / 32 + 1].lane[lane] |= static_cast<uint32_t>(bits >> 32);
            if constexpr((options & random_bits) != 0)
                random.lane[lane] = next_random(random.lane[lane]);
        }
    }
    const LaneMask lanes = written_lanes(wave, i);
    for(unsigned word = 0; word < words_out; ++word)
        merge(wave.result(i.destination, word), out[word], lanes);
}

// gfx942 has no -0 and no infinities of fp8 and bf8.
template <Handler fnuz, Handler ocp>
void by_architecture(Wave& wave, const Instruction& i)
{ (wave.program->architecture() == Architecture::gfx942 ? fnuz : ocp)(wave, i); }

template <typename Fnuz, typename Ocp, unsigned count>
constexpr Handler to_f32 =
    &by_architecture<&convert<Fnuz, Float32, count>, &convert<Ocp, Float32, count>>;

template <typename Fnuz, typename Ocp, unsigned count, unsigned options>
constexpr Handler from_f32 = &by_architecture<&convert<Float32, Fnuz, count, options>,
                                              &convert<Float32, Ocp, count, options>>;

// With a scale: `expand` from small formats, `shrink` to them.
template <typename From, typename To, unsigned count>
constexpr Handler expand = &convert<From, To, count, scaled>;

template <typename From, typename To, unsigned count, unsigned options = none>
constexpr Handler shrink = &convert<From, To, count, scaled | options>;

constexpr NamedHandler handlers[] = {
    {"v_cvt_f32_fp8", to_f32<Fp8Fnuz, Fp8, 1>},
    {"v_cvt_f32_bf8", to_f32<Bf8Fnuz, Bf8, 1>},
    {"v_cvt_pk_f32_fp8", to_f32<Fp8Fnuz, Fp8, 2>},
    {"v_cvt_pk_f32_bf8", to_f32<Bf8Fnuz, Bf8, 2>},
    {"v_cvt_pk_fp8_f32", from_f32<Fp8Fnuz, Fp8, 2, two_sources>},
    {"v_cvt_pk_bf8_f32", from_f32<Bf8Fnuz, Bf8, 2, two_sources>},
    {"v_cvt_sr_fp8_f32", from_f32<Fp8Fnuz, Fp8, 1, random_bits>},
    {"v_cvt_sr_bf8_f32", from_f32<Bf8Fnuz, Bf8, 1, random_bits>},

    {"v_cvt_scalef32_f32_fp8", expand<Fp8, Float32, 1>},
    {"v_cvt_scalef32_f32_bf8", expand<Bf8, Float32, 1>},
    {"v_cvt_scalef32_pk_f32_fp8", expand<Fp8, Float32, 2>},
    {"v_cvt_scalef32_pk_f32_bf8", expand<Bf8, Float32, 2>},
    {"v_cvt_scalef32_pk_f32_fp4", expand<Fp4, Float32, 2>},
    {"v_cvt_scalef32_pk32_f32_fp6", expand<Fp6, Float32, 32>},
    {"v_cvt_scalef32_pk32_f32_bf6", expand<Bf6, Float32, 32>},
    {"v_cvt_scalef32_f16_fp8", expand<Fp8, Half, 1>},
    {"v_cvt_scalef32_f16_bf8", expand<Bf8, Half, 1>},
    {"v_cvt_scalef32_pk_f16_fp8", expand<Fp8, Half, 2>},
    {"v_cvt_scalef32_pk_f16_bf8", expand<Bf8, Half, 2>},
    {"v_cvt_scalef32_pk_f16_fp4", expand<Fp4, Half, 2>},
    {"v_cvt_scalef32_pk32_f16_fp6", expand<Fp6, Half, 32>},
    {"v_cvt_scalef32_pk32_f16_bf6", expand<Bf6, Half, 32>},
    {"v_cvt_scalef32_pk_bf16_fp8", expand<Fp8, BFloat16, 2>},
    {"v_cvt_scalef32_pk_bf16_bf8", expand<Bf8, BFloat16, 2>},
    {"v_cvt_scalef32_pk_bf16_fp4", expand<Fp4, BFloat16, 2>},
    {"v_cvt_scalef32_pk32_bf16_fp6", expand<Fp6, BFloat16, 32>},
    {"v_cvt_scalef32_pk32_bf16_bf6", expand<Bf6, BFloat16, 32>},

    {"v_cvt_scalef32_pk_fp8_f32", shrink<Float32, Fp8, 2, two_sources>},
    {"v_cvt_scalef32_pk_bf8_f32", shrink<Float32, Bf8, 2, two_sources>},
    {"v_cvt_scalef32_pk_fp4_f32", shrink<Float32, Fp4, 2, two_sources>},
    {"v_cvt_scalef32_2xpk16_fp6_f32", shrink<Float32, Fp6, 32, two_sources>},
    {"v_cvt_scalef32_2xpk16_bf6_f32", shrink<Float32, Bf6, 32, two_sources>},
    {"v_cvt_scalef32_pk_fp8_f16", shrink<Half, Fp8, 2>},
    {"v_cvt_scalef32_pk_bf8_f16", shrink<Half, Bf8, 2>},
    {"v_cvt_scalef32_pk_fp4_f16", shrink<Half, Fp4, 2>},
    {"v_cvt_scalef32_pk32_fp6_f16", shrink<Half, Fp6, 32>},
    {"v_cvt_scalef32_pk32_bf6_f16", shrink<Half, Bf6, 32>},
    {"v_cvt_scalef32_pk_fp8_bf16", shrink<BFloat16, Fp8, 2>},
    {"v_cvt_scalef32_pk_bf8_bf16", shrink<BFloat16, Bf8, 2>},
    {"v_cvt_scalef32_pk_fp4_bf16", shrink<BFloat16, Fp4, 2>},
    {"v_cvt_scalef32_pk32_fp6_bf16", shrink<BFloat16, Fp6, 32>},
    {"v_cvt_scalef32_pk32_bf6_bf16", shrink<BFloat16, Bf6, 32>},

    {"v_cvt_scalef32_sr_fp8_f32", shrink<Float32, Fp8, 1, random_bits>},
    {"v_cvt_scalef32_sr_bf8_f32", shrink<Float32, Bf8, 1, random_bits>},
    {"v_cvt_scalef32_sr_pk_fp4_f32", shrink<Float32, Fp4, 2, random_bits>},
    {"v_cvt_scalef32_sr_pk32_fp6_f32", shrink<Float32, Fp6, 32, random_bits>},
    {"v_cvt_scalef32_sr_pk32_bf6_f32", shrink<Float32, Bf6, 32, random_bits>},
    {"v_cvt_scalef32_sr_fp8_f16", shrink<Half, Fp8, 1, random_bits>},
    {"v_cvt_scalef32_sr_bf8_f16", shrink<Half, Bf8, 1, random_bits>},
    {"v_cvt_scalef32_sr_pk_fp4_f16", shrink<Half, Fp4, 2, random_bits>},
    {"v_cvt_scalef32_sr_pk32_fp6_f16", shrink<Half, Fp6, 32, random_bits>},
    {"v_cvt_scalef32_sr_pk32_bf6_f16", shrink<Half, Bf6, 32, random_bits>},
    {"v_cvt_scalef32_sr_fp8_bf16", shrink<BFloat16, Fp8, 1, random_bits>},
    {"v_cvt_scalef32_sr_bf8_bf16", shrink<BFloat16, Bf8, 1, random_bits>},
    {"v_cvt_scalef32_sr_pk_fp4_bf16", shrink<BFloat16, Fp4, 2, random_bits>},
    {"v_cvt_scalef32_sr_pk32_fp6_bf16", shrink<BFloat16, Fp6, 32, random_bits>},
    {"v_cvt_scalef32_sr_pk32_bf6_bf16", shrink<BFloat16, Bf6, 32, random_bits>},
};

} // namespace

HandlerTable vector_fp8_handlers() { return handlers; }

} // namespace ckprof::emulator
