// SPDX-License-Identifier: MIT
#include "groups/vector_modifiers.hpp"

#include <array>
#include <cfenv>

#include "groups/cross_lane.hpp"

namespace ckprof::emulator {
namespace {

// Bits of a sub-dword selection: bytes 0 to 3, words 4 and 5, the dword.
struct Selection
{ unsigned first, count; };

Selection selection(unsigned select)
{
    if(select < 4) return {8 * select, 8};
    if(select < 6) return {16 * (select - 4), 16};
    return {0, 32};
}

uint32_t low_bits(unsigned count) { return count == 32 ? ~0U : (1U << count) - 1; }

void select_bits(VectorRegister& value, unsigned select, bool sign_extend)
{
    const auto [first, count] = selection(select);
    if(count == 32) return;
    const uint32_t mask = low_bits(count), sign = sign_extend ? 1U << (count - 1) : 0;
    for(uint32_t& lane : value.lane) lane = (((lane >> first) & mask) ^ sign) - sign;
}

void change_sign(VectorRegister& value, uint32_t sign, bool absolute, bool negate)
{
    for(uint32_t& lane : value.lane) lane = (absolute ? lane & ~sign : lane) ^ (negate ? sign : 0);
}

void flush_16(VectorRegister& value)
{
    for(uint32_t& lane : value.lane)
        if((lane & 0x7c00) == 0) lane &= 0xffff8000;
}

void flush_32(VectorRegister& value)
{
    for(uint32_t& lane : value.lane)
        if((lane & 0x7f800000) == 0) lane &= 0x80000000;
}

void flush_64(VectorRegister* value)
{
    for(int lane = 0; lane < lane_count; ++lane)
        if((value[1].lane[lane] & 0x7ff00000) == 0)
        {
            value[0].lane[lane] = 0;
            value[1].lane[lane] &= 0x80000000;
        }
}

constexpr uint32_t sign_of(Format format) { return is_16_bits(format) ? 0x8000 : 0x80000000; }

// Multiplies by two, four or a half; zeros lose their sign.
template <typename T>
void apply_output_modifier(VectorRegister* value, unsigned modifier)
{
    constexpr std::array factors = {1.0F, 2.0F, 4.0F, 0.5F};
    for(int lane = 0; lane < lane_count; ++lane)
    {
        auto scaled = Lane<T>::from(value[0].lane[lane], value[1].lane[lane]);
        if constexpr(std::is_same_v<T, F16>)
            scaled.value = scaled.value * factors[modifier] + 0.0F;
        else
            scaled = scaled * factors[modifier] + T{0};
        value[0].lane[lane] = Lane<T>::low(scaled);
        if constexpr(dwords_of(Lane<T>::format) == 2) value[1].lane[lane] = Lane<T>::high(scaled);
    }
}

// To [0, 1]; NaN becomes 0 with DX10_CLAMP and stays otherwise.
template <typename T>
void clamp(VectorRegister* value, bool nan_to_zero)
{
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const auto bits = Lane<T>::from(value[0].lane[lane], value[1].lane[lane]);
        double number;
        if constexpr(std::is_same_v<T, F16>)
            number = bits.value;
        else
            number = bits;
        const bool nan = number != number;
        if(nan && !nan_to_zero) continue;
        if(!nan && number > 0 && number <= 1) continue;
        const double bound = number > 1 ? 1 : 0;
        T bounded;
        if constexpr(std::is_same_v<T, F16>)
            bounded.value = static_cast<float>(bound);
        else
            bounded = static_cast<T>(bound);
        value[0].lane[lane] = Lane<T>::low(bounded);
        if constexpr(dwords_of(Lane<T>::format) == 2) value[1].lane[lane] = Lane<T>::high(bounded);
    }
}

template <typename T>
void modify_float(const Wave& wave, const Instruction& i, VectorRegister* value)
{
    const Format format = Lane<T>::format;
    const bool flushes =
        format == Format::float32 ? wave.mode.flush_32_outputs : wave.mode.flush_64_outputs;
    if(flushes) flush_denormals(value, format);
    // output modifiers know no denormals and are not those of IEEE 754
    if(i.output_modifier != 0 && flushes && !wave.mode.ieee)
    {
        apply_output_modifier<T>(value, i.output_modifier);
        flush_denormals(value, format);
        apply_output_modifier<T>(value, 0); // also what was flushed has no sign
    }
    if(i.clamp) clamp<T>(value, wave.mode.clamp_nan_to_zero);
}

// Places the bits of a result at its selection; the rest is zero, the sign, or what was there.
void place(VectorRegister& value, const VectorRegister& before, const SubDword& sdwa)
{
    const auto [first, count] = selection(sdwa.select[0]);
    if(count == 32) return;
    const uint32_t mask = low_bits(count);
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const uint32_t bits = value.lane[lane] & mask;
        uint32_t rest       = 0;
        if(sdwa.rest == 1 && (bits >> (count - 1)) != 0 && first + count < 32)
            rest = ~0U << (first + count);
        if(sdwa.rest == 2) rest = before.lane[lane] & ~(mask << first);
        value.lane[lane] = bits << first | rest;
    }
}

} // namespace

void flush_denormals(VectorRegister* value, Format format)
{
    if(format == Format::float16)
        flush_16(value[0]);
    else if(format == Format::float32)
        flush_32(value[0]);
    else
        flush_64(value);
}

void modify_result(const Wave& wave,
                   const Instruction& instruction,
                   Format format,
                   VectorRegister* registers)
{
    if(format == Format::float16) modify_float<F16>(wave, instruction, registers);
    if(format == Format::float32) modify_float<float>(wave, instruction, registers);
    if(format == Format::float64) modify_float<double>(wave, instruction, registers);
}

HostRounding::HostRounding(unsigned direction) : changed_(direction != 0)
{
    constexpr std::array directions = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    if(changed_) std::fesetround(directions[direction]);
}

HostRounding::~HostRounding()
{
    if(changed_) std::fesetround(FE_TONEAREST);
}

LaneMask written_lanes(const Wave& wave, const Instruction& instruction)
{
    const LaneMask exec = wave.exec();
    return instruction.cross_lane ? exec & cross_lane_written(instruction.dpp, exec) : exec;
}

void read_source(const Wave& wave,
                 const Instruction& instruction,
                 unsigned source,
                 Format format,
                 VectorRegister* registers)
{
    const Operand& operand = instruction.source[source];
    const unsigned dwords  = dwords_of(format);
    for(unsigned dword = 0; dword < dwords; ++dword)
    {
        const VectorRegister& raw = wave.lanes(operand, registers[dword], dword);
        if(instruction.cross_lane && source == 0)
            registers[dword] = cross_lane_values(instruction.dpp, raw, wave.exec());
        else if(&raw != &registers[dword])
            registers[dword] = raw;
    }
    // the third source of a short instruction is its destination: no modifier is meant for it
    if(source < 2 || !(instruction.sub_dword || instruction.cross_lane))
    {
        if(instruction.sub_dword)
            select_bits(registers[0],
                        instruction.sdwa.select[1 + source],
                        instruction.sdwa.sign_extend[source]);
        if(is_16_bits(format) && (instruction.op_sel >> source & 1) != 0)
            for(uint32_t& lane : registers[0].lane) lane >>= 16;
        const bool has_sign = is_float(format) || format == Format::signed32;
        if(has_sign && (operand.absolute || operand.negate))
            change_sign(registers[dwords - 1], sign_of(format), operand.absolute, operand.negate);
    }
    if(is_float(format) &&
       (format == Format::float32 ? wave.mode.flush_32_inputs : wave.mode.flush_64_inputs))
        flush_denormals(registers, format);
}

void write_result(Wave& wave,
                  const Instruction& instruction,
                  Format format,
                  bool keep,
                  VectorRegister* registers,
                  LaneMask lanes)
{
    modify_result(wave, instruction, format, registers);
    VectorRegister& to = wave.result(instruction.destination);
    const bool upper   = (instruction.op_sel & 8) != 0;
    if(is_16_bits(format) && !instruction.sub_dword && (keep || upper))
        for(int lane = 0; lane < lane_count; ++lane)
        {
            const uint32_t half = registers[0].lane[lane] & 0xffff;
            registers[0].lane[lane] =
                upper ? (to.lane[lane] & 0xffff) | half << 16 : (to.lane[lane] & 0xffff0000) | half;
        }
    if(instruction.sub_dword) place(registers[0], to, instruction.sdwa);
    merge(to, registers[0], lanes);
    if(dwords_of(format) == 2) merge(wave.result(instruction.destination, 1), registers[1], lanes);
}

} // namespace ckprof::emulator
