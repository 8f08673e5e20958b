// SPDX-License-Identifier: MIT
// Integers and bits of one value per wave: sop1 and sop2.
#include "groups/scalar.hpp"

#include <algorithm>
#include <bit>

#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

constexpr Condition kept = Condition::kept, nonzero = Condition::nonzero;

u32 add_carry(bool& scc, u32 a, u32 b, bool carry)
{
    const u64 sum = u64{a} + b + (carry ? 1 : 0);
    scc           = sum >> 32 != 0;
    return static_cast<u32>(sum);
}

u32 subtract_borrow(bool& scc, u32 a, u32 b, bool borrow)
{
    const u64 subtrahend = u64{b} + (borrow ? 1 : 0);
    scc                  = subtrahend > a;
    return static_cast<u32>(a - subtrahend);
}

// SCC is the signed overflow.
i32 checked(bool& scc, i64 exact)
{
    const auto result = static_cast<i32>(exact);
    scc               = result != exact;
    return result;
}

template <unsigned bits>
u32 shifted_sum(bool& scc, u32 a, u32 b)
{
    const u64 sum = (u64{a} << bits) + b;
    scc           = sum >> 32 != 0;
    return static_cast<u32>(sum);
}

template <typename T, bool largest>
T extreme(bool& scc, T a, T b)
{
    scc = largest ? a >= b : a < b;
    return scc ? a : b;
}

// -1 where there is no such bit.
template <typename T>
i32 first_one(T value)
{ return value == 0 ? -1 : std::countr_zero(value); }
template <typename T>
i32 leading_zeros(T value)
{ return value == 0 ? -1 : std::countl_zero(value); }
template <typename T>
i32 leading_signs(T value)
{
    using U = std::make_unsigned_t<T>;
    return leading_zeros(static_cast<U>(value < 0 ? ~value : value));
}

template <typename T>
T reversed_bits(T value)
{
    T result = 0;
    for(unsigned n = 0; n < 8 * sizeof(T); ++n) result = result << 1 | (value >> n & 1);
    return result;
}

// Bits first (low bits of b) to first + count - 1 (b from bit 16 on).
template <typename T>
T field(T value, u32 b)
{
    constexpr u32 width = 8 * sizeof(T);
    const u32 first = b & (width - 1), count = b >> 16 & 0x7f;
    value = static_cast<T>(value >> first);
    if(count == 0) return 0;
    if(count >= width) return value;
    using U          = std::make_unsigned_t<T>;
    const u32 unused = width - count;
    // the shift back extends the sign of signed types
    return static_cast<T>(static_cast<T>(static_cast<U>(value) << unused) >> unused);
}

template <typename T>
T field_mask(u32 count, u32 first)
{
    constexpr u32 last = 8 * sizeof(T) - 1;
    return ((T{1} << (count & last)) - 1) << (first & last);
}

// Each group of four bits that has a one, as four ones or as one.
template <typename T>
T whole_quads(T value)
{
    T ones = value | value >> 1;
    ones   = (ones | ones >> 2) & static_cast<T>(0x1111111111111111);
    return static_cast<T>(ones * 15);
}
template <typename T>
T quad_mask(T value)
{
    T result = 0;
    for(unsigned quad = 0; quad < 2 * sizeof(T); ++quad)
        result |= T{(value >> (4 * quad) & 15) != 0} << quad;
    return result;
}

u64 doubled_bits(u32 value)
{
    u64 result = 0;
    for(unsigned n = 0; n < 32; ++n) result |= u64{value >> n & 1} * 3 << (2 * n);
    return result;
}

u32 packed(u32 low, u32 high) { return (low & 0xffff) | high << 16; }

void move_if(Wave& wave, const Instruction& i)
{
    if(wave.scc) wave.write(i.destination, wave.read64(i.source[0]));
}

template <bool one>
void set_bit(Wave& wave, const Instruction& i)
{
    const u64 before = wave.read64(i.destination);
    const u64 bit    = u64{1} << (wave.read32(i.source[0]) & (i.destination.dwords > 1 ? 63 : 31));
    wave.write(i.destination, one ? before | bit : before & ~bit);
}

// Registers whose number has M0 added.
Operand relative(const Wave& wave, Operand operand)
{
    operand.number = static_cast<uint16_t>((operand.number + wave.scalar[scalar::m0]) & 127);
    return operand;
}

void move_from_relative(Wave& wave, const Instruction& i)
{ wave.write(i.destination, wave.read64(relative(wave, i.source[0]))); }

void move_to_relative(Wave& wave, const Instruction& i)
{ wave.write(relative(wave, i.destination), wave.read64(i.source[0])); }

template <typename T>
constexpr Handler move = &scalar_operation<kept, [](T a) { return a; }>;
template <typename T, auto operation>
constexpr Handler logical = &scalar_operation<nonzero, [](T a, T b) { return T(operation(a, b)); }>;

constexpr NamedHandler handlers[] = {
    {"s_mov_b32", move<u32>},
    {"s_mov_b64", move<u64>},
    {"s_cmov_b32", &move_if},
    {"s_cmov_b64", &move_if},
    {"s_movrels_b32", &move_from_relative},
    {"s_movrels_b64", &move_from_relative},
    {"s_movreld_b32", &move_to_relative},
    {"s_movreld_b64", &move_to_relative},
    {"s_cselect_b32", &scalar_with_carry<[](bool& scc, u32 a, u32 b) { return scc ? a : b; }>},
    {"s_cselect_b64", &scalar_with_carry<[](bool& scc, u64 a, u64 b) { return scc ? a : b; }>},

    {"s_add_u32",
     &scalar_with_carry<[](bool& scc, u32 a, u32 b) { return add_carry(scc, a, b, false); }>},
    {"s_addc_u32",
     &scalar_with_carry<[](bool& scc, u32 a, u32 b) { return add_carry(scc, a, b, scc); }>},
    {"s_sub_u32",
     &scalar_with_carry<[](bool& scc, u32 a, u32 b) { return subtract_borrow(scc, a, b, false); }>},
    {"s_subb_u32",
     &scalar_with_carry<[](bool& scc, u32 a, u32 b) { return subtract_borrow(scc, a, b, scc); }>},
    {"s_add_i32",
     &scalar_with_carry<[](bool& scc, i32 a, i32 b) { return checked(scc, i64{a} + b); }>},
    {"s_sub_i32",
     &scalar_with_carry<[](bool& scc, i32 a, i32 b) { return checked(scc, i64{a} - b); }>},
    {"s_lshl1_add_u32", &scalar_with_carry<&shifted_sum<1>>},
    {"s_lshl2_add_u32", &scalar_with_carry<&shifted_sum<2>>},
    {"s_lshl3_add_u32", &scalar_with_carry<&shifted_sum<3>>},
    {"s_lshl4_add_u32", &scalar_with_carry<&shifted_sum<4>>},
    {"s_min_i32", &scalar_with_carry<&extreme<i32, false>>},
    {"s_min_u32", &scalar_with_carry<&extreme<u32, false>>},
    {"s_max_i32", &scalar_with_carry<&extreme<i32, true>>},
    {"s_max_u32", &scalar_with_carry<&extreme<u32, true>>},
    {"s_mul_i32", &scalar_operation<kept, [](u32 a, u32 b) { return a * b; }>},
    {"s_mul_hi_u32",
     &scalar_operation<kept, [](u32 a, u32 b) { return (static_cast<u32>(u64{a} * b >> 32)); }>},
    {"s_mul_hi_i32",
     &scalar_operation<kept, [](i32 a, i32 b) { return (static_cast<i32>(i64{a} * b >> 32)); }>},
    {"s_abs_i32",
     &scalar_operation<nonzero,
                       [](i32 a) {
                           return a < 0 ? 0U - static_cast<u32>(a) : static_cast<u32>(a);
                       }>},
    {"s_absdiff_i32",
     &scalar_operation<nonzero,
                       [](u32 a, u32 b) {
                           const u32 difference = a - b;
                           return static_cast<i32>(difference) < 0 ? 0U - difference : difference;
                       }>},

    {"s_and_b32", logical<u32, logic::bits_and>},
    {"s_and_b64", logical<u64, logic::bits_and>},
    {"s_or_b32", logical<u32, logic::bits_or>},
    {"s_or_b64", logical<u64, logic::bits_or>},
    {"s_xor_b32", logical<u32, logic::bits_xor>},
    {"s_xor_b64", logical<u64, logic::bits_xor>},
    {"s_andn2_b32", logical<u32, logic::bits_andn2>},
    {"s_andn2_b64", logical<u64, logic::bits_andn2>},
    {"s_orn2_b32", logical<u32, logic::bits_orn2>},
    {"s_orn2_b64", logical<u64, logic::bits_orn2>},
    {"s_nand_b32", logical<u32, logic::bits_nand>},
    {"s_nand_b64", logical<u64, logic::bits_nand>},
    {"s_nor_b32", logical<u32, logic::bits_nor>},
    {"s_nor_b64", logical<u64, logic::bits_nor>},
    {"s_xnor_b32", logical<u32, logic::bits_xnor>},
    {"s_xnor_b64", logical<u64, logic::bits_xnor>},
    {"s_not_b32", &scalar_operation<nonzero, [](u32 a) { return ~a; }>},
    {"s_not_b64", &scalar_operation<nonzero, [](u64 a) { return ~a; }>},

    {"s_lshl_b32", &scalar_operation<nonzero, [](u32 a, u32 b) { return a << (b & 31); }>},
    {"s_lshl_b64", &scalar_operation<nonzero, [](u64 a, u32 b) { return a << (b & 63); }>},
    {"s_lshr_b32", &scalar_operation<nonzero, [](u32 a, u32 b) { return (a >> (b & 31)); }>},
    {"s_lshr_b64", &scalar_operation<nonzero, [](u64 a, u32 b) { return (a >> (b & 63)); }>},
    {"s_ashr_i32", &scalar_operation<nonzero, [](i32 a, u32 b) { return (a >> (b & 31)); }>},
    {"s_ashr_i64", &scalar_operation<nonzero, [](i64 a, u32 b) { return (a >> (b & 63)); }>},
    {"s_bfm_b32", &scalar_operation<kept, &field_mask<u32>>},
    {"s_bfm_b64", &scalar_operation<kept, &field_mask<u64>>},
    {"s_bfe_u32", &scalar_operation<nonzero, &field<u32>>},
    {"s_bfe_i32", &scalar_operation<nonzero, &field<i32>>},
    {"s_bfe_u64", &scalar_operation<nonzero, &field<u64>>},
    {"s_bfe_i64", &scalar_operation<nonzero, &field<i64>>},
    {"s_wqm_b32", &scalar_operation<nonzero, &whole_quads<u32>>},
    {"s_wqm_b64", &scalar_operation<nonzero, &whole_quads<u64>>},
    {"s_quadmask_b32", &scalar_operation<nonzero, &quad_mask<u32>>},
    {"s_quadmask_b64", &scalar_operation<nonzero, &quad_mask<u64>>},
    {"s_brev_b32", &scalar_operation<kept, &reversed_bits<u32>>},
    {"s_brev_b64", &scalar_operation<kept, &reversed_bits<u64>>},
    {"s_bitreplicate_b64_b32", &scalar_operation<kept, &doubled_bits>},
    {"s_bcnt0_i32_b32", &scalar_operation<nonzero, [](u32 a) { return std::popcount(~a); }>},
    {"s_bcnt0_i32_b64", &scalar_operation<nonzero, [](u64 a) { return std::popcount(~a); }>},
    {"s_bcnt1_i32_b32", &scalar_operation<nonzero, [](u32 a) { return std::popcount(a); }>},
    {"s_bcnt1_i32_b64", &scalar_operation<nonzero, [](u64 a) { return std::popcount(a); }>},
    {"s_ff0_i32_b32", &scalar_operation<kept, [](u32 a) { return first_one(~a); }>},
    {"s_ff0_i32_b64", &scalar_operation<kept, [](u64 a) { return first_one(~a); }>},
    {"s_ff1_i32_b32", &scalar_operation<kept, &first_one<u32>>},
    {"s_ff1_i32_b64", &scalar_operation<kept, &first_one<u64>>},
    {"s_flbit_i32_b32", &scalar_operation<kept, &leading_zeros<u32>>},
    {"s_flbit_i32_b64", &scalar_operation<kept, &leading_zeros<u64>>},
    {"s_flbit_i32", &scalar_operation<kept, &leading_signs<i32>>},
    {"s_flbit_i32_i64", &scalar_operation<kept, &leading_signs<i64>>},
    {"s_sext_i32_i8", &scalar_operation<kept, [](u32 a) { return i32{static_cast<int8_t>(a)}; }>},
    {"s_sext_i32_i16", &scalar_operation<kept, [](u32 a) { return i32{static_cast<int16_t>(a)}; }>},
    {"s_bitset0_b32", &set_bit<false>},
    {"s_bitset0_b64", &set_bit<false>},
    {"s_bitset1_b32", &set_bit<true>},
    {"s_bitset1_b64", &set_bit<true>},
    {"s_pack_ll_b32_b16", &scalar_operation<kept, [](u32 a, u32 b) { return packed(a, b); }>},
    {"s_pack_lh_b32_b16",
     &scalar_operation<kept, [](u32 a, u32 b) { return (packed(a, b >> 16)); }>},
    {"s_pack_hh_b32_b16",
     &scalar_operation<kept, [](u32 a, u32 b) { return (packed(a >> 16, b >> 16)); }>},
};

} // namespace

HandlerTable scalar_handlers() { return handlers; }

} // namespace ckprof::emulator
