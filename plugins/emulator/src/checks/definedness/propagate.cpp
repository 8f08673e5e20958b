// SPDX-License-Identifier: MIT
#include "checks/definedness/propagate.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

namespace ckprof::emulator {
namespace {

// Undefined bits and values of one 32-bit source.
struct Source
{
    VectorRegister undefined{};
    VectorRegister value{};
};

uint32_t all_if(bool any) { return any ? ~0U : 0; }

Source
source_of(const Wave& wave, const WaveShadow& shadow, const Operand& operand, unsigned dword = 0)
{
    Source source;
    switch(operand.kind)
    {
    case Operand::Kind::vector:
        source.undefined = shadow.vector[operand.number + dword];
        source.value     = wave.vector[operand.number + dword];
        return source;
    case Operand::Kind::scalar:
        fill(source.undefined, shadow.scalar[(operand.number + dword) % 128]);
        fill(source.value, wave.scalar[(operand.number + dword) % 128]);
        return source;
    case Operand::Kind::none: return source;
    default:
        fill(source.value, static_cast<uint32_t>(wave.read64(operand) >> 32 * dword));
        return source;
    }
}

// Bits of a source that the instruction reads.
uint32_t read_bits(const Instruction& i, const DefinednessRule& rule, unsigned s)
{
    if(i.sub_dword && s < 2)
    {
        const uint8_t select = i.sdwa.select[1 + s];
        return select < 4 ? 0xffU << 8 * select : select < 6 ? 0xffffU << 16 * (select - 4) : ~0U;
    }
    if(rule.half) return (i.op_sel >> s & 1) != 0 ? 0xffff0000U : 0xffffU;
    return rule.source_bits;
}

void scalar_result(const Wave& wave,
                   const Instruction& i,
                   const DefinednessRule& rule,
                   WaveShadow& shadow)
{
    uint32_t bits[2] = {};
    for(const Operand& operand : i.source)
        for(unsigned dword = 0;
            dword < 2 && operand.kind == Operand::Kind::scalar && dword < operand.dwords;
            ++dword)
            bits[dword] |= shadow.scalar[(operand.number + dword) % 128];
    const std::string_view name = i.info->name;
    const bool is_and           = name.starts_with("s_and_b") || name.starts_with("s_andn2_b") ||
                                  name.starts_with("s_nand_b"),
               is_or            = name.starts_with("s_or_b") || name.starts_with("s_orn2_b") ||
                                  name.starts_with("s_nor_b");
    // One operand alone decides where it is 0 in a product, or 1 in a sum. So loops keep masks of
    // lanes that they have left: what was there before counts for lanes that are off.
    for(unsigned dword = 0; (is_and || is_or) && dword < i.destination.dwords; ++dword)
    {
        const Source a      = source_of(wave, shadow, i.source[0], dword),
                     b      = source_of(wave, shadow, i.source[1], dword);
        const uint32_t of_a = is_and ? a.value.lane[0] : ~a.value.lane[0],
                       of_b = is_and != (name.find("n2_b") != std::string_view::npos)
                                  ? b.value.lane[0]
                                  : ~b.value.lane[0];
        bits[dword] &= (of_a | a.undefined.lane[0]) & (of_b | b.undefined.lane[0]);
    }
    // the mask that saveexec combines with is always defined, as are masks of lanes that are off
    bool any = (bits[0] | bits[1]) != 0 || (rule.reads_scc && shadow.scc);
    if(i.info->encoding == Encoding::sopk && i.destination.kind == Operand::Kind::scalar &&
       (name.starts_with("s_addk") || name.starts_with("s_mulk") || name.starts_with("s_cmpk")))
        any = any || shadow.scalar[i.destination.number] != 0;
    if(rule.writes_scc) shadow.scc = any;
    if(i.info->encoding == Encoding::sopc || name.starts_with("s_cmpk") ||
       name.starts_with("s_setreg") || i.destination.dwords == 0)
        return;
    if(name.find("saveexec") != std::string_view::npos)
    {
        shadow.scalar[i.destination.number] = shadow.scalar[i.destination.number + 1u] = 0;
        for(unsigned dword = 0; dword < 2; ++dword)
            shadow.scalar[scalar::exec + dword] =
                name.starts_with("s_and_") ? bits[dword] & wave.scalar[scalar::exec + dword]
                                           : bits[dword];
        return;
    }
    for(unsigned dword = 0; dword < i.destination.dwords; ++dword)
        shadow.scalar[(i.destination.number + dword) % 128] =
            rule.rule == Rule::scalar_bits ? bits[dword] : all_if(any);
}

// Lanes of which any bit that is read is undefined.
LaneMask undefined_lanes(const Wave& wave,
                         const Instruction& i,
                         const DefinednessRule& rule,
                         const WaveShadow& shadow)
{
    LaneMask lanes = 0;
    for(unsigned s = 0; s < 3; ++s)
    {
        const Operand& operand = i.source[s];
        if(operand.kind != Operand::Kind::vector && operand.kind != Operand::Kind::scalar) continue;
        if(s == 2 && rule.mask_source)
        {
            lanes |= shadow.scalar[operand.number] | uint64_t{shadow.scalar[operand.number + 1u]}
                                                         << 32;
            continue;
        }
        const uint32_t bits = read_bits(i, rule, s);
        LaneMask of_source  = 0;
        for(unsigned dword = 0; dword < std::max<unsigned>(operand.dwords, 1); ++dword)
        {
            const Source source = source_of(wave, shadow, operand, dword);
            for(int lane = 0; lane < lane_count; ++lane)
                of_source |= LaneMask{(source.undefined.lane[lane] & bits) != 0} << lane;
        }
        // the lane that is read is another one
        if(i.cross_lane && s == 0 && (of_source & wave.exec()) != 0) of_source = all_lanes;
        lanes |= of_source;
    }
    return lanes;
}

// From the lowest undefined bit on: carries only go up.
template <typename T>
T upward(T undefined)
{ return undefined == 0 ? 0 : static_cast<T>(~T{0} << std::countr_zero(undefined)); }

// Undefined bits of a lane's result, for the rules that look at bits.
uint32_t result_bits(Rule rule, const uint32_t (&u)[3], const uint32_t (&v)[3])
{
    switch(rule)
    {
    case Rule::bits: return u[0] | u[1] | u[2];
    case Rule::bits_and: return (u[0] | u[1]) & (v[0] | u[0]) & (v[1] | u[1]);
    case Rule::sum: return upward(u[0] | u[1] | u[2]);
    case Rule::shift_left: return u[0] != 0 ? ~0U : u[1] << (v[0] & 31);
    case Rule::shift_right: return u[0] != 0 ? ~0U : u[1] >> (v[0] & 31);
    case Rule::bit_field:
    {
        if((u[1] | u[2]) != 0) return ~0U;
        const uint32_t width = v[2] & 31;
        return all_if((u[0] >> (v[1] & 31) & ((1U << width) - 1)) != 0);
    }
    case Rule::bit_insert: return u[0] != 0 ? ~0U : (v[0] & u[1]) | (~v[0] & u[2]);
    case Rule::and_or: return result_bits(Rule::bits_and, {u[0], u[1], 0}, {v[0], v[1], 0}) | u[2];
    case Rule::shift_or: return u[1] != 0 ? ~0U : u[0] << (v[1] & 31) | u[2];
    case Rule::permute_bytes:
    {
        if(u[2] != 0) return ~0U;
        const uint64_t both = uint64_t{u[0]} << 32 | u[1];
        uint32_t result     = 0;
        for(unsigned byte = 0; byte < 4; ++byte)
        {
            const uint32_t select = v[2] >> 8 * byte & 0xff;
            const uint32_t from   = select < 8 ? select : select < 12 ? 2 * (select - 8) + 1 : 8;
            if(from < 8) result |= static_cast<uint32_t>(both >> 8 * from & 0xff) << 8 * byte;
        }
        return result;
    }
    case Rule::align_bits:
    case Rule::align_bytes:
    {
        if(u[2] != 0) return ~0U;
        const unsigned shift = rule == Rule::align_bits ? v[2] & 31 : 8 * (v[2] & 3);
        return static_cast<uint32_t>((uint64_t{u[0]} << 32 | u[1]) >> shift);
    }
    default: return 0;
    }
}

uint32_t half_of(uint32_t bits, bool high) { return high ? bits >> 16 : bits & 0xffff; }

// Both halves of a packed result: each is undefined where any source's half is.
uint32_t packed_bits(const Instruction& i, const uint32_t (&u)[3])
{
    bool low = false, high = false;
    for(unsigned s = 0; s < 3; ++s)
    {
        low  = low || half_of(u[s], (i.op_sel >> s & 1) != 0) != 0;
        high = high || half_of(u[s], (i.op_sel_high >> s & 1) != 0) != 0;
    }
    return (low ? 0xffffU : 0) | (high ? 0xffff0000U : 0);
}

void packed_registers(const Wave& wave, const Instruction& i, WaveShadow& shadow)
{
    VectorRegister results[2] = {};
    for(unsigned half = 0; half < 2; ++half)
        for(unsigned s = 0; s < 3; ++s)
        {
            if(i.source[s].kind == Operand::Kind::none) continue;
            // v_pk_mov_b32 takes its second register from the second source only
            if(std::string_view(i.info->name) == "v_pk_mov_b32" && s != half) continue;
            const bool select   = std::string_view(i.info->name) == "v_pk_mov_b32"
                                      ? (i.op_sel >> s & 1) != 0
                                      : ((half == 0 ? i.op_sel : i.op_sel_high) >> s & 1) != 0;
            const Source source = source_of(wave, shadow, i.source[s], select ? 1 : 0);
            for(int lane = 0; lane < lane_count; ++lane)
                results[half].lane[lane] |= source.undefined.lane[lane];
        }
    for(unsigned half = 0; half < 2; ++half)
        merge(shadow.vector[i.destination.number + half], results[half], wave.exec());
}

void wide_sum(const Wave& wave, const Instruction& i, WaveShadow& shadow)
{
    VectorRegister low{}, high{};
    uint64_t undefined[lane_count] = {};
    for(const Operand& operand : i.source)
        for(unsigned dword = 0; dword < std::max<unsigned>(operand.dwords, 1); ++dword)
        {
            const Source source = source_of(wave, shadow, operand, dword);
            for(int lane = 0; lane < lane_count; ++lane)
                undefined[lane] |= uint64_t{source.undefined.lane[lane]} << 32 * dword;
        }
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const uint64_t bits = upward(undefined[lane]);
        low.lane[lane]      = static_cast<uint32_t>(bits);
        high.lane[lane]     = static_cast<uint32_t>(bits >> 32);
    }
    merge(shadow.vector[i.destination.number], low, wave.exec());
    merge(shadow.vector[i.destination.number + 1], high, wave.exec());
}

void set_scalar_destination(const Instruction& i, LaneMask lanes, WaveShadow& shadow)
{
    if(i.scalar_destination.kind != Operand::Kind::scalar) return;
    shadow.scalar[i.scalar_destination.number]      = static_cast<uint32_t>(lanes);
    shadow.scalar[i.scalar_destination.number + 1u] = static_cast<uint32_t>(lanes >> 32);
}

} // namespace

void propagate(const Wave& wave,
               const Instruction& i,
               const DefinednessRule& rule,
               WaveShadow& shadow)
{
    const LaneMask exec = wave.exec();
    switch(rule.rule)
    {
    case Rule::scalar:
    case Rule::scalar_bits: return scalar_result(wave, i, rule, shadow);
    case Rule::compare:
    {
        const LaneMask lanes = undefined_lanes(wave, i, rule, shadow) & exec;
        set_scalar_destination(i, lanes, shadow);
        return;
    }
    case Rule::read_lane:
    case Rule::read_first_lane:
    {
        unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
        if(rule.rule == Rule::read_lane) lane = wave.read32(i.source[1]) % lane_count;
        shadow.scalar[i.destination.number] =
            source_of(wave, shadow, i.source[0]).undefined.lane[lane];
        return;
    }
    case Rule::write_lane:
    {
        const unsigned lane = wave.read32(i.source[1]) % lane_count;
        shadow.vector[i.destination.number].lane[lane] =
            source_of(wave, shadow, i.source[0]).undefined.lane[0];
        return;
    }
    case Rule::packed_32: return packed_registers(wave, i, shadow);
    case Rule::wide_sum:
    {
        // the carries may go where a factor comes from
        const LaneMask lanes = undefined_lanes(wave, i, rule, shadow) & exec;
        wide_sum(wave, i, shadow);
        return set_scalar_destination(i, lanes, shadow);
    }
    default: break;
    }
    const bool simple = rule.rule == Rule::vector || i.sub_dword || i.cross_lane;
    if(simple)
    {
        // one that reads its own result reads it as a source
        LaneMask lanes              = undefined_lanes(wave, i, rule, shadow);
        const std::string_view name = i.info->name;
        if(name.starts_with("v_fmac") || name.starts_with("v_mac") || name.starts_with("v_dot2c") ||
           name.starts_with("v_pk_fmac"))
            for(int lane = 0; lane < lane_count; ++lane)
                lanes |= LaneMask{shadow.vector[i.destination.number].lane[lane] != 0} << lane;
        VectorRegister result;
        for(int lane = 0; lane < lane_count; ++lane)
            result.lane[lane] = all_if((lanes >> lane & 1) != 0);
        for(unsigned dword = 0; dword < i.destination.dwords; ++dword)
            merge(shadow.vector[i.destination.number + dword], result, exec);
        set_scalar_destination(i, lanes & exec, shadow);
        return;
    }
    for(unsigned dword = 0; dword < std::max<unsigned>(i.destination.dwords, 1); ++dword)
    {
        const Source sources[3] = {source_of(wave, shadow, i.source[0], dword),
                                   source_of(wave, shadow, i.source[1], dword),
                                   rule.mask_source ? Source{}
                                                    : source_of(wave, shadow, i.source[2], dword)};
        const uint64_t mask     = rule.mask_source ? wave.scalar64(i.source[2].number) : 0;
        const uint64_t undefined_mask =
            rule.mask_source ? shadow.scalar[i.source[2].number] |
                                   uint64_t{shadow.scalar[i.source[2].number + 1u]} << 32
                             : 0;
        VectorRegister result;
        for(int lane = 0; lane < lane_count; ++lane)
        {
            const uint32_t u[3] = {sources[0].undefined.lane[lane],
                                   sources[1].undefined.lane[lane],
                                   sources[2].undefined.lane[lane]};
            const uint32_t v[3] = {sources[0].value.lane[lane],
                                   sources[1].value.lane[lane],
                                   sources[2].value.lane[lane]};
            switch(rule.rule)
            {
            case Rule::select:
                result.lane[lane] = (undefined_mask >> lane & 1) != 0 ? ~0U : u[mask >> lane & 1];
                break;
            case Rule::packed_16: result.lane[lane] = packed_bits(i, u); break;
            case Rule::pair:
                result.lane[lane] = ((u[0] & read_bits(i, rule, 0)) != 0 ? 0xffffU : 0) |
                                    ((u[1] & read_bits(i, rule, 1)) != 0 ? 0xffff0000U : 0);
                break;
            default: result.lane[lane] = result_bits(rule.rule, u, v); break;
            }
        }
        merge(shadow.vector[i.destination.number + dword], result, exec);
    }
}

} // namespace ckprof::emulator
