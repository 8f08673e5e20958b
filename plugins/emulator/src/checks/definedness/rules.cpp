// SPDX-License-Identifier: MIT
#include "checks/definedness/rules.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace ckprof::emulator {
namespace {

struct NamedRule
{
    std::string_view name;
    Rule rule;
};

constexpr NamedRule by_name[] = {
    {"s_cbranch_scc0", Rule::branch_scc},
    {"s_cbranch_scc1", Rule::branch_scc},
    {"s_cbranch_vccz", Rule::branch_vcc},
    {"s_cbranch_vccnz", Rule::branch_vcc},
    {"v_and_b32", Rule::bits_and},
    {"v_mov_b32", Rule::bits},
    {"v_mov_b64", Rule::bits},
    {"v_or_b32", Rule::bits},
    {"v_xor_b32", Rule::bits},
    {"v_xnor_b32", Rule::bits},
    {"v_not_b32", Rule::bits},
    {"v_or3_b32", Rule::bits},
    {"v_accvgpr_read_b32", Rule::bits},
    {"v_accvgpr_write_b32", Rule::bits},
    {"v_accvgpr_mov_b32", Rule::bits},
    {"v_add_u32", Rule::sum},
    {"v_sub_u32", Rule::sum},
    {"v_subrev_u32", Rule::sum},
    {"v_add3_u32", Rule::sum},
    {"v_mul_lo_u32", Rule::sum},
    {"v_mad_u64_u32", Rule::wide_sum},
    {"v_mad_i64_i32", Rule::wide_sum},
    {"v_lshl_add_u64", Rule::wide_sum},
    {"v_lshlrev_b32", Rule::shift_left},
    {"v_lshrrev_b32", Rule::shift_right},
    {"v_ashrrev_i32", Rule::shift_right},
    {"v_bfe_u32", Rule::bit_field},
    {"v_bfe_i32", Rule::bit_field},
    {"v_bfi_b32", Rule::bit_insert},
    {"v_and_or_b32", Rule::and_or},
    {"v_lshl_or_b32", Rule::shift_or},
    {"v_perm_b32", Rule::permute_bytes},
    {"v_alignbit_b32", Rule::align_bits},
    {"v_alignbyte_b32", Rule::align_bytes},
    {"v_cndmask_b32", Rule::select},
    {"v_readlane_b32", Rule::read_lane},
    {"v_readfirstlane_b32", Rule::read_first_lane},
    {"v_writelane_b32", Rule::write_lane},
    {"v_pack_b32_f16", Rule::pair},
    {"v_pk_mov_b32", Rule::packed_32},
    {"ds_permute_b32", Rule::lane_exchange},
    {"ds_bpermute_b32", Rule::lane_exchange},
    {"ds_swizzle_b32", Rule::lane_exchange},
};

bool contains(std::string_view text, std::string_view part)
{ return text.find(part) != std::string_view::npos; }

bool starts_with_one_of(std::string_view name, std::initializer_list<std::string_view> parts)
{
    return std::any_of(
        parts.begin(), parts.end(), [&](std::string_view part) { return name.starts_with(part); });
}

bool ends_with_one_of(std::string_view name, std::initializer_list<std::string_view> parts)
{
    return std::any_of(
        parts.begin(), parts.end(), [&](std::string_view part) { return name.ends_with(part); });
}

DefinednessRule scalar_rule(std::string_view name)
{
    DefinednessRule rule{Rule::scalar};
    if(starts_with_one_of(name,
                          {"s_mov_",
                           "s_and_",
                           "s_or_",
                           "s_xor_",
                           "s_not_",
                           "s_andn",
                           "s_orn",
                           "s_nand",
                           "s_nor_",
                           "s_xnor"}))
        rule.rule = Rule::scalar_bits;
    rule.writes_scc = !starts_with_one_of(name,
                                          {"s_mov",
                                           "s_cmov",
                                           "s_cselect",
                                           "s_mul",
                                           "s_bfm",
                                           "s_pack",
                                           "s_getpc",
                                           "s_setpc",
                                           "s_swappc",
                                           "s_brev",
                                           "s_ff",
                                           "s_flbit",
                                           "s_sext",
                                           "s_bitset",
                                           "s_getreg",
                                           "s_setreg",
                                           "s_call"});
    rule.reads_scc  = starts_with_one_of(name, {"s_cselect", "s_cmov", "s_addc", "s_subb"});
    return rule;
}

Rule vector_rule(const Instruction& i, std::string_view name)
{
    for(const NamedRule& named : by_name)
        if(named.name == name) return named.rule;
    if(starts_with_one_of(name, {"v_mfma", "v_smfmac"})) return Rule::matrix;
    if(name.starts_with("v_cmp")) return Rule::compare;
    if(name.starts_with("v_cvt_pk") && ends_with_one_of(name, {"_f32", "_u32", "_i32"}) &&
       !contains(name, "p8") && !contains(name, "u8"))
        return i.info->widths[2] != 0 ? Rule::pair : Rule::vector;
    if(i.info->encoding == Encoding::vop3p && name.starts_with("v_pk_"))
        return name.ends_with("32") ? Rule::packed_32 : Rule::packed_16;
    return Rule::vector;
}

Rule memory_rule(std::string_view name)
{
    for(const NamedRule& named : by_name)
        if(named.name == name) return named.rule;
    if(contains(name, "store") || contains(name, "write") || contains(name, "atomic"))
        return Rule::store;
    return contains(name, "load") || contains(name, "read") ? Rule::load : Rule::store;
}

} // namespace

DefinednessRule definedness_rule(const Instruction& i)
{
    if(i.info == nullptr) return {};
    const std::string_view name = i.info->name;
    DefinednessRule rule;
    switch(i.info->encoding)
    {
    case Encoding::sopp:
        for(const NamedRule& named : by_name)
            if(named.name == name) rule.rule = named.rule;
        return rule;
    case Encoding::sop1:
    case Encoding::sop2:
    case Encoding::sopc:
    case Encoding::sopk: return scalar_rule(name);
    case Encoding::smem: rule.rule = Rule::load; return rule;
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vopc:
    case Encoding::vop3:
    case Encoding::vop3p:
        rule.rule = vector_rule(i, name);
        rule.half = rule.rule != Rule::packed_16 && rule.rule != Rule::matrix &&
                    i.info->encoding != Encoding::vop3p &&
                    ends_with_one_of(name, {"_f16", "_i16", "_u16", "_b16", "_bf16"});
        rule.mask_source =
            rule.rule == Rule::select || contains(name, "addc_co") || contains(name, "subb");
        if(name.starts_with("v_cvt_f32_ubyte")) rule.source_bits = 0xffU << 8 * (name.back() - '0');
        if(contains(name, "_u24") || contains(name, "_i24")) rule.source_bits = 0xffffff;
        return rule;
    default:
        rule.rule       = memory_rule(name);
        rule.half       = contains(name, "_d16");
        rule.upper_half = contains(name, "_d16_hi");
        rule.extends_sign =
            contains(name, "_sbyte") || contains(name, "_sshort") || contains(name, "ds_read_i");
        return rule;
    }
}

} // namespace ckprof::emulator
