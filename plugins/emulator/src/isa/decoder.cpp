// SPDX-License-Identifier: MIT
#include "isa/decoder.hpp"

#include <array>
#include <bit>
#include <string_view>

#include "core/errors.hpp"
#include "isa/constants.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

// Bits first to first + count - 1.
constexpr uint32_t field(uint32_t word, unsigned first, unsigned count)
{ return word >> first & ((1U << count) - 1); }

// The source that is the word after the instruction.
constexpr unsigned literal_code = 255;

struct Form
{
    Encoding encoding;
    uint16_t opcode;
    uint8_t words; // without a literal
};

// The prefixes overlap: longer ones come first.
Form form_of(uint32_t w)
{
    if(w >> 31 == 0)
    {
        if(w >> 25 == 0x3f) return {Encoding::vop1, static_cast<uint16_t>(field(w, 9, 8)), 1};
        if(w >> 25 == 0x3e) return {Encoding::vopc, static_cast<uint16_t>(field(w, 17, 8)), 1};
        return {Encoding::vop2, static_cast<uint16_t>(field(w, 25, 6)), 1};
    }
    if(w >> 30 == 2)
    {
        if(w >> 23 == 0x17d) return {Encoding::sop1, static_cast<uint16_t>(field(w, 8, 8)), 1};
        if(w >> 23 == 0x17e) return {Encoding::sopc, static_cast<uint16_t>(field(w, 16, 7)), 1};
        if(w >> 23 == 0x17f) return {Encoding::sopp, static_cast<uint16_t>(field(w, 16, 7)), 1};
        if(w >> 28 == 0xb) return {Encoding::sopk, static_cast<uint16_t>(field(w, 23, 5)), 1};
        return {Encoding::sop2, static_cast<uint16_t>(field(w, 23, 7)), 1};
    }
    if(w >> 23 == 0x1a7) return {Encoding::vop3p, static_cast<uint16_t>(field(w, 16, 7)), 2};
    switch(w >> 26)
    {
    case 0x30: return {Encoding::smem, static_cast<uint16_t>(field(w, 18, 8)), 2};
    case 0x34: return {Encoding::vop3, static_cast<uint16_t>(field(w, 16, 10)), 2};
    case 0x36: return {Encoding::ds, static_cast<uint16_t>(field(w, 17, 8)), 2};
    case 0x37:
    {
        constexpr std::array segments = {
            Encoding::flat, Encoding::scratch, Encoding::global, Encoding::flat};
        return {segments[field(w, 14, 2)], static_cast<uint16_t>(field(w, 18, 7)), 2};
    }
    case 0x38: return {Encoding::mubuf, static_cast<uint16_t>(field(w, 18, 7)), 2};
    case 0x3a: return {Encoding::mtbuf, static_cast<uint16_t>(field(w, 15, 4)), 2};
    default: return {Encoding::sopp, 0xffff, 1};
    }
}

[[noreturn]] void unknown_instruction(Wave& wave, const Instruction& instruction)
{ throw IllegalInstruction(wave, instruction); }

struct Reader
{
    Architecture architecture;
    uint32_t low, high, literal;
    bool uses_literal = false;
    const InstructionInfo* info;

    // A source of 9 bits (8 for scalar instructions).
    Operand source(unsigned code, unsigned slot, bool accumulation = false)
    {
        Operand operand;
        operand.dwords = info->widths[slot];
        if(code >= 256)
        {
            operand.kind   = Operand::Kind::vector;
            operand.number = static_cast<uint16_t>(code - 256 + (accumulation ? 256 : 0));
            return operand;
        }
        if(code < 128)
        {
            operand.kind   = Operand::Kind::scalar;
            operand.number = static_cast<uint16_t>(code);
            return operand;
        }
        switch(code)
        {
        case 251: operand.kind = Operand::Kind::vccz; return operand;
        case 252: operand.kind = Operand::Kind::execz; return operand;
        case 253: operand.kind = Operand::Kind::scc; return operand;
        case 254: operand.kind = Operand::Kind::lds_direct; return operand;
        case 235:
        case 236:
        case 237:
        case 238:
            operand.kind   = Operand::Kind::aperture;
            operand.number = static_cast<uint16_t>(code);
            return operand;
        default: break;
        }
        operand.kind  = Operand::Kind::constant;
        uses_literal  = uses_literal || code == literal_code;
        operand.value = code == literal_code ? literal_value(*info, slot, literal)
                                             : inline_constant(*info, slot, code);
        return operand;
    }

    Operand scalar_register(unsigned code, unsigned dwords) const
    {
        Operand operand;
        operand.kind   = Operand::Kind::scalar;
        operand.number = static_cast<uint16_t>(code);
        operand.dwords = static_cast<uint8_t>(dwords);
        return operand;
    }

    Operand vector_register(unsigned code, unsigned slot, bool accumulation = false) const
    {
        Operand operand;
        operand.kind   = Operand::Kind::vector;
        operand.number = static_cast<uint16_t>(code + (accumulation ? 256 : 0));
        operand.dwords = info->widths[slot];
        return operand;
    }
};

void decode_scalar(Reader& in, Instruction& out)
{
    const uint32_t w   = in.low;
    const auto& widths = in.info->widths;
    const bool immediates =
        in.info->encoding == Encoding::sopk || in.info->encoding == Encoding::sopp;
    if(immediates) out.immediate = static_cast<int16_t>(field(w, 0, 16));
    if(!immediates && widths[1] != 0) out.source[0] = in.source(field(w, 0, 8), 1);
    if(!immediates && widths[2] != 0) out.source[1] = in.source(field(w, 8, 8), 2);
    if(in.info->encoding == Encoding::sopc && widths[2] == 0)
        out.immediate = static_cast<int32_t>(field(w, 8, 8)); // of s_set_gpr_idx_on
    if(widths[0] != 0) out.destination = in.scalar_register(field(w, 16, 7), widths[0]);
    if(std::string_view(in.info->name) == "s_setreg_imm32_b32")
        out.source[0] = in.source(literal_code, 1);
}

void decode_scalar_memory(Reader& in, Instruction& out)
{
    const uint32_t w = in.low;
    if(in.info->widths[0] != 0)
        out.destination = in.scalar_register(field(w, 6, 7), in.info->widths[0]);
    if(in.info->widths[1] == 0) return; // clocks and caches
    out.source[0]            = in.scalar_register(field(w, 0, 6) * 2, in.info->widths[1]);
    out.sc0                  = field(w, 16, 1) != 0;
    const bool has_immediate = field(w, 17, 1) != 0, has_register = field(w, 14, 1) != 0;
    if(has_immediate) out.immediate = static_cast<int32_t>(in.high << 11) >> 11;
    if(has_register)
        out.scalar_offset = in.scalar_register(field(in.high, 25, 7), 1);
    else if(!has_immediate)
        out.scalar_offset = in.scalar_register(field(in.high, 0, 7), 1);
}

void decode_sub_dword(uint32_t word, Reader& in, Instruction& out)
{
    out.sub_dword      = true;
    const bool compare = in.info->encoding == Encoding::vopc;
    if(compare)
        out.scalar_destination =
            in.scalar_register(field(word, 15, 1) != 0 ? field(word, 8, 7) : scalar::vcc, 2);
    else
    {
        out.sdwa.select[0]  = static_cast<uint8_t>(field(word, 8, 3));
        out.sdwa.rest       = static_cast<uint8_t>(field(word, 11, 2));
        out.clamp           = field(word, 13, 1) != 0;
        out.output_modifier = static_cast<uint8_t>(field(word, 14, 2));
    }
    for(unsigned s = 0; s < 2; ++s)
    {
        const unsigned at       = 16 + 8 * s;
        out.sdwa.select[1 + s]  = static_cast<uint8_t>(field(word, at, 3));
        out.sdwa.sign_extend[s] = field(word, at + 3, 1) != 0;
        out.source[s].negate    = field(word, at + 4, 1) != 0;
        out.source[s].absolute  = field(word, at + 5, 1) != 0;
    }
    const unsigned first    = field(word, 0, 8);
    const Operand modifiers = out.source[0];
    out.source[0]           = in.source(field(word, 23, 1) != 0 ? first : first + 256, 1);
    out.source[0].negate    = modifiers.negate;
    out.source[0].absolute  = modifiers.absolute;
    if(field(word, 31, 1) != 0 && out.source[1].kind == Operand::Kind::vector)
    {
        const Operand second   = out.source[1];
        out.source[1]          = in.source(second.number, 2);
        out.source[1].negate   = second.negate;
        out.source[1].absolute = second.absolute;
    }
}

void decode_cross_lane(uint32_t word, Reader& in, Instruction& out)
{
    out.cross_lane         = true;
    out.dpp.control        = static_cast<uint16_t>(field(word, 8, 9));
    out.dpp.bound_control  = field(word, 19, 1) != 0;
    out.dpp.bank_mask      = static_cast<uint8_t>(field(word, 24, 4));
    out.dpp.row_mask       = static_cast<uint8_t>(field(word, 28, 4));
    out.source[0]          = in.vector_register(field(word, 0, 8), 1);
    out.source[0].negate   = field(word, 20, 1) != 0;
    out.source[0].absolute = field(word, 21, 1) != 0;
    out.source[1].negate   = field(word, 22, 1) != 0;
    out.source[1].absolute = field(word, 23, 1) != 0;
}

// Adds to what its destination holds.
bool accumulates(std::string_view name)
{
    return name.starts_with("v_mac_") || name.starts_with("v_fmac_") || name == "v_pk_fmac_f16" ||
           name.starts_with("v_dot2c_") || name.starts_with("v_dot4c_") ||
           name.starts_with("v_dot8c_");
}

// Of 32 bits: vop1, vop2, vopc.
void decode_short_vector(Reader& in, Instruction& out)
{
    const uint32_t w     = in.low;
    const unsigned first = field(w, 0, 9);
    const bool sdwa = first == 249, dpp = first == 250;
    if(!sdwa && !dpp) out.source[0] = in.source(first, 1);
    if(in.info->encoding != Encoding::vop1) out.source[1] = in.vector_register(field(w, 9, 8), 2);
    if(in.info->encoding == Encoding::vopc)
        out.scalar_destination = in.scalar_register(scalar::vcc, 2);
    else if(const std::string_view name = in.info->name; name == "v_readfirstlane_b32")
        out.destination = in.scalar_register(field(w, 17, 8), 1);
    else
    {
        const bool accumulation = name == "v_accvgpr_mov_b32";
        out.destination         = in.vector_register(field(w, 17, 8), 0, accumulation);
        if(accumulation) out.source[0] = in.source(first, 1, true);
        if(name.ends_with("madmk_f32") || name.ends_with("madak_f32") ||
           name.ends_with("madmk_f16") || name.ends_with("madak_f16") ||
           name.ends_with("fmamk_f32") || name.ends_with("fmaak_f32"))
        {
            in.uses_literal  = true;
            Operand constant = in.source(literal_code, 2);
            // ..mk multiplies by the literal, ..ak adds it
            if(name.find("mk_") != std::string_view::npos)
            {
                out.source[2] = out.source[1];
                out.source[1] = constant;
            }
            else
                out.source[2] = constant;
        }
        if(name == "v_pk_fmac_f16") out.op_sel_high = 7;
        // carries of the short forms are in vcc
        if(name.find("_co_u32") != std::string_view::npos)
            out.scalar_destination = in.scalar_register(scalar::vcc, 2);
        if(name == "v_cndmask_b32" || name == "v_addc_co_u32" || name == "v_subb_co_u32" ||
           name == "v_subbrev_co_u32")
            out.source[2] = in.scalar_register(scalar::vcc, 2);
    }
    if(accumulates(in.info->name)) out.source[2] = out.destination;
    if(sdwa) decode_sub_dword(in.high, in, out);
    if(dpp) decode_cross_lane(in.high, in, out);
}

// A compare, or an operation with a second result in scalar registers.
bool has_scalar_result(const InstructionInfo& info)
{
    const std::string_view name = info.name;
    return name.find("_co_u32") != std::string_view::npos || name.starts_with("v_div_scale") ||
           name.starts_with("v_mad_u64_u32") || name.starts_with("v_mad_i64_i32");
}

void decode_long_vector(Reader& in, Instruction& out)
{
    const uint32_t w            = in.low;
    const std::string_view name = in.info->name;
    for(unsigned s = 0; s < 3; ++s)
        if(in.info->widths[1 + s] != 0)
        {
            out.source[s]          = in.source(field(in.high, 9 * s, 9), 1 + s);
            out.source[s].negate   = field(in.high, 29 + s, 1) != 0;
            out.source[s].absolute = field(w, 8 + s, 1) != 0;
        }
    out.output_modifier = static_cast<uint8_t>(field(in.high, 27, 2));
    out.clamp           = field(w, 15, 1) != 0;
    out.op_sel          = static_cast<uint8_t>(field(w, 11, 4));
    if(has_scalar_result(*in.info))
    {
        out.scalar_destination = in.scalar_register(field(w, 8, 7), 2);
        for(Operand& source : out.source) source.absolute = false;
        out.op_sel = 0;
    }
    if(name.starts_with("v_cmp"))
        out.scalar_destination = in.scalar_register(field(w, 0, 8), 2);
    else if(name == "v_readlane_b32" || name == "v_readfirstlane_b32")
        out.destination = in.scalar_register(field(w, 0, 8), 1);
    else
        out.destination = in.vector_register(field(w, 0, 8), 0);
    if(accumulates(name)) out.source[2] = out.destination;
    if(name == "v_pk_fmac_f16") out.op_sel_high = 7;
    // the bits of modifiers are a table here
    if(name.starts_with("v_bitop3"))
    {
        out.immediate       = static_cast<int32_t>(field(in.high, 29, 3) | field(w, 8, 3) << 3 |
                                                   field(in.high, 27, 2) << 6);
        out.output_modifier = 0;
        for(Operand& source : out.source) source.negate = source.absolute = false;
    }
}

void decode_packed(Reader& in, Instruction& out)
{
    const uint32_t w            = in.low;
    const std::string_view name = in.info->name;
    // elsewhere these bits say which halves are read
    const bool matrix  = name.starts_with("v_mfma") || name.starts_with("v_smfmac");
    const uint32_t acc = matrix ? field(in.high, 27, 2) : 0;
    const bool acc_cd  = matrix && field(w, 15, 1) != 0;
    out.source[0]      = in.source(field(in.high, 0, 9), 1, (acc & 1) != 0);
    if(in.info->widths[2] != 0) out.source[1] = in.source(field(in.high, 9, 9), 2, (acc & 2) != 0);
    // the third source of a sparse product is an index, always in plain registers
    if(in.info->widths[3] != 0)
        out.source[2] =
            in.source(field(in.high, 18, 9), 3, acc_cd && !name.starts_with("v_smfmac"));
    out.destination = in.vector_register(field(w, 0, 8), 0, acc_cd);
    // these two know which side is the one for accumulation, whatever the bits say
    if(name.starts_with("v_accvgpr_read") && out.source[0].kind == Operand::Kind::vector)
        out.source[0].number = static_cast<uint16_t>(out.source[0].number % 256 + 256);
    if(name.starts_with("v_accvgpr_write"))
    {
        out.destination.number = static_cast<uint16_t>(out.destination.number % 256 + 256);
        if(out.source[0].kind == Operand::Kind::vector) out.source[0].number %= 256;
    }
    if(matrix)
    {
        out.cbsz = static_cast<uint8_t>(field(w, 8, 3));
        out.abid = static_cast<uint8_t>(field(w, 11, 4));
        out.blgp = static_cast<uint8_t>(field(in.high, 29, 3));
        if(name.ends_with("_f8f6f4"))
        {
            // CBSZ and BLGP are the formats of 32 elements: 8, 8, 6, 6 and 4 bits
            constexpr std::array<uint8_t, 8> dwords = {8, 8, 6, 6, 4, 4, 4, 4};
            out.source[0].dwords                    = dwords[out.cbsz];
            out.source[1].dwords                    = dwords[out.blgp];
        }
        return;
    }
    out.clamp       = field(w, 15, 1) != 0;
    out.op_sel      = static_cast<uint8_t>(field(w, 11, 3));
    out.op_sel_high = static_cast<uint8_t>(field(in.high, 27, 2) | field(w, 14, 1) << 2);
    out.negate_high = static_cast<uint8_t>(field(w, 8, 3));
    for(unsigned s = 0; s < 3; ++s) out.source[s].negate = field(in.high, 29 + s, 1) != 0;
}

void decode_lds(Reader& in, Instruction& out)
{
    const uint32_t w = in.low;
    const bool acc   = field(w, 25, 1) != 0;
    out.offset[0]    = static_cast<uint8_t>(field(w, 0, 8));
    out.offset[1]    = static_cast<uint8_t>(field(w, 8, 8));
    out.immediate    = static_cast<int32_t>(field(w, 0, 16));
    if(in.info->widths[1] != 0) out.source[0] = in.vector_register(field(in.high, 0, 8), 1);
    if(in.info->widths[2] != 0) out.source[1] = in.vector_register(field(in.high, 8, 8), 2, acc);
    if(in.info->widths[3] != 0) out.source[2] = in.vector_register(field(in.high, 16, 8), 3, acc);
    if(in.info->widths[0] != 0) out.destination = in.vector_register(field(in.high, 24, 8), 0, acc);
}

// The data of an atomic that returns nothing have a destination field, too, which is not used then.
void decode_flat(Reader& in, Instruction& out)
{
    const uint32_t w = in.low;
    const bool acc   = field(in.high, 23, 1) != 0;
    out.immediate    = in.info->encoding == Encoding::flat ? static_cast<int32_t>(field(w, 0, 12))
                                                           : static_cast<int32_t>(w << 19) >> 19;
    out.sc0          = field(w, 16, 1) != 0;
    out.nt           = field(w, 17, 1) != 0;
    out.sc1          = field(w, 25, 1) != 0;
    const std::string_view name   = in.info->name;
    out.to_lds                    = name.find("_lds_") != std::string_view::npos;
    const unsigned scalar_address = field(in.high, 16, 7);
    if(in.info->encoding != Encoding::flat && scalar_address != 0x7f)
        out.scalar_offset =
            in.scalar_register(scalar_address, in.info->encoding == Encoding::global ? 2 : 1);
    // scratch: gfx942 says whether there is a vector offset, gfx90a has one exactly without a
    // scalar one
    const bool has_vector =
        in.info->encoding != Encoding::scratch ||
        (in.architecture == Architecture::gfx90a ? scalar_address == 0x7f : field(w, 13, 1) != 0);
    if(has_vector)
    {
        out.source[0] = in.vector_register(field(in.high, 0, 8), 1);
        // beside a scalar base it is an offset of 32 bits
        if(out.scalar_offset.kind == Operand::Kind::scalar) out.source[0].dwords = 1;
    }
    if(in.info->widths[2] != 0) out.source[1] = in.vector_register(field(in.high, 8, 8), 2, acc);
    const bool returns =
        in.info->widths[0] != 0 || (name.find("_atomic_") != std::string_view::npos && out.sc0);
    if(returns)
    {
        out.destination = in.vector_register(field(in.high, 24, 8), 0, acc);
        if(out.destination.dwords == 0)
            out.destination.dwords = static_cast<uint8_t>(
                name.find("cmpswap") != std::string_view::npos ? in.info->widths[2] / 2
                                                               : in.info->widths[2]);
    }
}

void decode_buffer(Reader& in, Instruction& out)
{
    const uint32_t w   = in.low;
    const bool typed   = in.info->encoding == Encoding::mtbuf;
    out.immediate      = static_cast<int32_t>(field(w, 0, 12));
    out.offset_enabled = field(w, 12, 1) != 0;
    out.index_enabled  = field(w, 13, 1) != 0;
    out.sc0            = field(w, 14, 1) != 0;
    if(!typed)
    {
        out.sc1    = field(w, 15, 1) != 0;
        out.to_lds = field(w, 16, 1) != 0;
        out.nt     = field(w, 17, 1) != 0;
    }
    const bool acc       = field(in.high, 23, 1) != 0;
    out.source[0]        = in.vector_register(field(in.high, 0, 8), 1);
    out.source[0].dwords = static_cast<uint8_t>(out.offset_enabled + out.index_enabled);
    if(out.source[0].dwords == 0) out.source[0].kind = Operand::Kind::none;
    if(in.info->widths[0] != 0 && !out.to_lds)
        out.destination = in.vector_register(field(in.high, 8, 8), 0, acc);
    if(in.info->widths[1] == 0) return; // caches
    out.resource             = in.scalar_register(field(in.high, 16, 5) * 4, 4);
    out.scalar_offset        = in.source(field(in.high, 24, 8), 0);
    out.scalar_offset.dwords = 1;
}

bool is_modified(const Instruction& i)
{
    bool any = i.clamp || i.output_modifier != 0 || i.op_sel != 0 || i.sub_dword || i.cross_lane;
    for(const Operand& source : i.source) any = any || source.negate || source.absolute;
    return any;
}

Instruction decode(Architecture architecture, std::span<const uint32_t> words, uint32_t address);

// v_mfma_scale_*: the scales of A and B, then 8 bytes of the instruction without scales.
constexpr InstructionInfo scaled_products[] = {
    {Encoding::vop3p, 45, "v_mfma_scale_f32_16x16x128_f8f6f4", 4, {4, 8, 8, 4}},
    {Encoding::vop3p, 46, "v_mfma_scale_f32_32x32x64_f8f6f4", 4, {16, 8, 8, 16}},
};

// Alone it does nothing that is documented, and nothing emits it: named in errors.
constexpr InstructionInfo load_scale{Encoding::vop3p, 44, "v_mfma_ld_scale_b32", 4, {0, 1, 1, 0}};

bool loads_scale(Architecture architecture, const Form& form)
{
    return architecture == Architecture::gfx950 && form.encoding == load_scale.encoding &&
           form.opcode == load_scale.opcode;
}

const InstructionInfo*
find_scaled_product(Architecture architecture, const Form& form, std::span<const uint32_t> words)
{
    if(!loads_scale(architecture, form) || words.size() < 4) return nullptr;
    const Form product = form_of(words[2]);
    for(const InstructionInfo& info : scaled_products)
        if(product.encoding == info.encoding && product.opcode == info.opcode) return &info;
    return nullptr;
}

Instruction decode_scaled_product(const InstructionInfo& info,
                                  std::span<const uint32_t> words,
                                  uint32_t address)
{
    Instruction out = decode(Architecture::gfx950, words.subspan(2), address);
    Reader in{Architecture::gfx950, words[0], words[1], 0, false, &info};
    out.info                 = &info;
    out.bytes                = 16;
    out.resource             = in.source(field(words[1], 0, 9), 1);
    out.scalar_offset        = in.source(field(words[1], 9, 9), 2);
    out.resource.dwords      = 1;
    out.scalar_offset.dwords = 1;
    out.op_sel               = static_cast<uint8_t>(field(words[0], 11, 2));
    out.op_sel_high          = static_cast<uint8_t>(field(words[1], 27, 2));
    const Handler handler    = find_handler(info.name);
    out.execute              = handler != nullptr ? handler : &unknown_instruction;
    return out;
}

Instruction decode(Architecture architecture, std::span<const uint32_t> words, uint32_t address)
{
    const Form form = form_of(words[0]);
    if(const InstructionInfo* scaled = find_scaled_product(architecture, form, words))
        return decode_scaled_product(*scaled, words, address);
    Instruction out;
    out.address = address;
    out.info    = loads_scale(architecture, form)
                      ? &load_scale
                      : find_instruction(architecture, form.encoding, form.opcode);
    out.bytes   = static_cast<uint8_t>(4 * form.words);
    if(out.info == nullptr || words.size() < form.words)
    {
        out.info    = nullptr;
        out.bytes   = 4;
        out.execute = &unknown_instruction;
        return out;
    }
    Reader in{architecture,
              words[0],
              words.size() > 1 ? words[1] : 0,
              words.size() > 1 ? words[1] : 0,
              false,
              out.info};
    switch(form.encoding)
    {
    case Encoding::sop2:
    case Encoding::sopk:
    case Encoding::sop1:
    case Encoding::sopc:
    case Encoding::sopp: decode_scalar(in, out); break;
    case Encoding::smem: decode_scalar_memory(in, out); break;
    case Encoding::vop2:
    case Encoding::vop1:
    case Encoding::vopc: decode_short_vector(in, out); break;
    case Encoding::vop3: decode_long_vector(in, out); break;
    case Encoding::vop3p: decode_packed(in, out); break;
    case Encoding::ds: decode_lds(in, out); break;
    case Encoding::flat:
    case Encoding::scratch:
    case Encoding::global: decode_flat(in, out); break;
    case Encoding::mubuf:
    case Encoding::mtbuf: decode_buffer(in, out); break;
    }
    if(in.uses_literal || out.sub_dword || out.cross_lane) out.bytes = 8;
    out.modified          = is_modified(out);
    const Handler handler = find_handler(out.info->name);
    // global data share is another memory, which newer architectures do not have
    const bool global_share = form.encoding == Encoding::ds && field(words[0], 16, 1) != 0;
    out.execute             = handler != nullptr && !global_share ? handler : &unknown_instruction;
    return out;
}

[[noreturn]] void past_the_end(Wave& wave, const Instruction& instruction)
{ throw IllegalInstruction(wave, instruction); }

} // namespace

Program::Program(Architecture architecture, std::span<const uint32_t> words, uint64_t base)
    : architecture_(architecture),
      base_(base),
      by_word_(words.size(), -1)
{
    for(size_t word = 0; word < words.size();)
    {
        by_word_[word] = static_cast<int32_t>(instructions_.size());
        instructions_.push_back(
            decode(architecture, words.subspan(word), static_cast<uint32_t>(word * 4)));
        word += instructions_.back().bytes / 4;
    }
    Instruction& end = instructions_.emplace_back();
    end.address      = static_cast<uint32_t>(words.size() * 4);
    end.execute      = &past_the_end;
    for(Instruction& instruction : instructions_)
        if(instruction.info != nullptr &&
           (std::string_view(instruction.info->name).starts_with("s_cbranch") ||
            std::string_view(instruction.info->name) == "s_branch" ||
            std::string_view(instruction.info->name) == "s_call_b64"))
            instruction.target = at(base_ + instruction.address + 4 +
                                    static_cast<uint64_t>(int64_t{instruction.immediate} * 4));
}

void Program::omit(const Instruction& instruction)
{
    instructions_[static_cast<size_t>(&instruction - instructions_.data())].execute =
        [](Wave&, const Instruction&) {};
}

} // namespace ckprof::emulator
