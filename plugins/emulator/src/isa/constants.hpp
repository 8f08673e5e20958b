// SPDX-License-Identifier: MIT
// Constants within instructions: small integers and a few floating-point values, and literals. How
// wide they are read depends on the type that the instruction's name ends with.
#pragma once

#include <cstdint>
#include <string_view>

#include "isa/instruction.hpp"

namespace ckprof::emulator {

enum class ConstantFormat : uint8_t
{
    bits16,
    bits32,
    bits64,
};

// The type of sources is the last one of a name: v_cvt_f32_f16 reads fp16.
inline ConstantFormat constant_format(const InstructionInfo& info, unsigned slot)
{
    const std::string_view name = info.name;
    if(name.starts_with("v_mfma_f64")) return ConstantFormat::bits64;
    if(name.starts_with("v_cvt_scalef32")) return ConstantFormat::bits32; // the scale
    if(info.widths[slot] == 2 && !name.starts_with("v_pk_") && !name.starts_with("v_mfma"))
        return ConstantFormat::bits64;
    // operands of mixed precision are fp32 where they are constants, as are the sums of products
    if(name.starts_with("s_") || name.starts_with("v_fma_mix") ||
       (name.starts_with("v_dot") && slot == 3))
        return ConstantFormat::bits32;
    for(const std::string_view type : {"_f16", "_i16", "_u16", "_b16", "_bf16"})
        if(name.ends_with(type) && !name.starts_with("v_cvt_pk") && !name.starts_with("v_mfma"))
            return ConstantFormat::bits16;
    return ConstantFormat::bits32;
}

inline uint64_t inline_constant(const InstructionInfo& info, unsigned slot, unsigned code)
{
    const ConstantFormat format = constant_format(info, slot);
    if(code >= 128 && code <= 208)
    {
        const int64_t number =
            code <= 192 ? static_cast<int64_t>(code) - 128 : 192 - static_cast<int64_t>(code);
        return format == ConstantFormat::bits64 ? static_cast<uint64_t>(number)
                                                : static_cast<uint32_t>(number);
    }
    // 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1 / (2 pi)
    constexpr uint64_t as16[] = {
        0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
    constexpr uint64_t as32[] = {0x3f000000,
                                 0xbf000000,
                                 0x3f800000,
                                 0xbf800000,
                                 0x40000000,
                                 0xc0000000,
                                 0x40800000,
                                 0xc0800000,
                                 0x3e22f983};
    constexpr uint64_t as64[] = {0x3fe0000000000000,
                                 0xbfe0000000000000,
                                 0x3ff0000000000000,
                                 0xbff0000000000000,
                                 0x4000000000000000,
                                 0xc000000000000000,
                                 0x4010000000000000,
                                 0xc010000000000000,
                                 0x3fc45f306dc9c882};
    if(code < 240 || code > 248) return 0; // reserved
    const unsigned index = code - 240;
    return format == ConstantFormat::bits16   ? as16[index]
           : format == ConstantFormat::bits32 ? as32[index]
                                              : as64[index];
}

// The 32 bits of a literal are the upper half of an fp64 value, and sign-extended as an integer.
inline uint64_t literal_value(const InstructionInfo& info, unsigned slot, uint32_t literal)
{
    if(constant_format(info, slot) != ConstantFormat::bits64) return literal;
    const std::string_view name = info.name;
    if(name.ends_with("_f64")) return uint64_t{literal} << 32;
    if(name.ends_with("_u64") || name.ends_with("_b64")) return literal;
    return static_cast<uint64_t>(int64_t{static_cast<int32_t>(literal)});
}

} // namespace ckprof::emulator
