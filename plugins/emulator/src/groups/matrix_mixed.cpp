// SPDX-License-Identifier: MIT
// Products of gfx950 whose CBSZ and BLGP choose the formats of A and B, with or without a scale for
// every 32 elements along K.
#include "core/errors.hpp"
#include "groups/matrix_product.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

using namespace matrix;

constexpr unsigned per_lane = 32; // elements; also those that share a scale

enum Format : uint8_t
{
    fp8,
    bf8,
    fp6,
    bf6,
    fp4,
};

// The number, along K, of element e in a group of lanes. A lane has two parts of 16 elements of
// 8 bits, with all groups' first parts before the second ones; of smaller ones it has 32 in a row.
constexpr unsigned number_along_k(Format format, unsigned groups, unsigned group, unsigned e)
{ return format <= bf8 ? e / 16 * 16 * groups + group * 16 + e % 16 : group * per_lane + e; }

struct Location
{ unsigned group, e; };

constexpr Location location(Format format, unsigned groups, unsigned k)
{
    return format <= bf8 ? Location{k / 16 % groups, k / (16 * groups) * 16 + k % 16}
                         : Location{k / per_lane, k % per_lane};
}

void read(const Wave& wave, const Operand& operand, Format format, Plane<float>* planes)
{
    VectorRegister room[most_registers];
    const VectorRegister* registers = registers_of(wave, operand, operand.dwords, 0, room);
    switch(format)
    {
    case fp8: return unpack_float<Fp8, per_lane>(registers, planes);
    case bf8: return unpack_float<Bf8, per_lane>(registers, planes);
    case fp6: return unpack_float<Fp6, per_lane>(registers, planes);
    case bf6: return unpack_float<Bf6, per_lane>(registers, planes);
    case fp4: return unpack_float<Fp4, per_lane>(registers, planes);
    }
}

// Multiplies elements by their powers of two: byte `byte` of the scale that lane
// size * (k / 32) + row has for a row's elements k.
template <typename S>
void apply_scales(
    Wave& wave, const Operand& operand, unsigned byte, Format format, Plane<float>* planes)
{
    const VectorRegister& scales = wave.lanes(operand, wave.temporary[0]);
    // an inline constant is a power of two as fp32: its exponent is the scale
    const unsigned first = operand.kind == Operand::Kind::constant ? 23 : 8 * byte;
    float factors[lane_count];
    for(unsigned lane = 0; lane < lane_count; ++lane)
    {
        const uint32_t code = scales.lane[lane] >> first & 0xff;
        const uint32_t bits = code == 0 ? 0x400000 : code << 23; // 2^-127 is a denormal
        factors[lane]       = std::bit_cast<float>(code == 0xff ? 0x7fc00000 : bits);
    }
    for(unsigned e = 0; e < per_lane; ++e)
        for(unsigned group = 0; group < S::groups; ++group)
        {
            const unsigned block = number_along_k(format, S::groups, group, e) / per_lane;
            const float* factor  = factors + S::size * block;
            float* row           = planes[e] + S::size * group;
            for(unsigned n = 0; n < S::size; ++n) row[n] *= factor[n];
        }
}

template <typename S, bool scaled>
void mfma_mixed(Wave& wave, const Instruction& i)
{
    if(i.cbsz > fp4 || i.blgp > fp4) throw IllegalInstruction(wave, i);
    const auto a_format = static_cast<Format>(i.cbsz), b_format = static_cast<Format>(i.blgp);
    alignas(64) Plane<float> a[per_lane], b[per_lane];
    read(wave, i.source[0], a_format, a);
    read(wave, i.source[1], b_format, b);
    if constexpr(scaled)
    {
        const auto byte = [&i](unsigned operand) {
            return (i.op_sel >> operand & 1U) | (i.op_sel_high >> operand & 1U) << 1;
        };
        apply_scales<S>(wave, i.resource, byte(0), a_format, a);
        apply_scales<S>(wave, i.scalar_offset, byte(1), b_format, b);
    }
    unsigned rows[S::groups][per_lane]; // where each row of B begins in its planes
    for(unsigned group = 0; group < S::groups; ++group)
        for(unsigned e = 0; e < per_lane; ++e)
        {
            const unsigned k  = number_along_k(a_format, S::groups, group, e);
            const Location at = location(b_format, S::groups, k);
            rows[group][e]    = at.e * lane_count + at.group * S::size;
        }
    multiply<S, float>(
        wave,
        i,
        i.source[2],
        a,
        [&b, &rows](unsigned group, unsigned e, unsigned) { return b[0] + rows[group][e]; },
        false);
}

using Small = Shape<16, 128>;
using Large = Shape<32, 64>;

constexpr NamedHandler handlers[] = {
    {"v_mfma_f32_16x16x128_f8f6f4", &mfma_mixed<Small, false>},
    {"v_mfma_f32_32x32x64_f8f6f4", &mfma_mixed<Large, false>},
    {"v_mfma_scale_f32_16x16x128_f8f6f4", &mfma_mixed<Small, true>},
    {"v_mfma_scale_f32_32x32x64_f8f6f4", &mfma_mixed<Large, true>},
};

} // namespace

HandlerTable matrix_mixed_handlers() { return handlers; }

} // namespace ckprof::emulator
