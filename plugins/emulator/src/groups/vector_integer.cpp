// SPDX-License-Identifier: MIT
// Integers and bits of 64 lanes.
#include <algorithm>

#include "groups/integers.hpp"
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

u32 byte_of(u32 value, unsigned n) { return value >> (8 * n) & 0xff; }
u32 average_of_bytes(u32 a, u32 b, u32 round)
{
    u32 result = 0;
    for(unsigned n = 0; n < 4; ++n)
        result |= ((byte_of(a, n) + byte_of(b, n) + (byte_of(round, n) & 1)) >> 1) << (8 * n);
    return result;
}

// One register after the other.
void move_pair(Wave& wave, const Instruction& i)
{
    if(i.modified)
    {
        lanewise<[](u64 a) { return a; }>(wave, i);
        return;
    }
    for(unsigned dword = 0; dword < 2; ++dword)
        write_lanes(wave, i.destination, wave.lanes(i.source[0], wave.temporary[0], dword), dword);
}

// Selectors: bytes of the second source from 0 on, of the first from 4 on, signs of words 8 to 11,
// 0 and 255.
u32 permuted_bytes(u32 a, u32 b, u32 selectors)
{
    u32 result = 0;
    for(unsigned n = 0; n < 4; ++n)
    {
        const u32 selector = byte_of(selectors, n);
        const u32 plain    = ((selector & 4) != 0 ? a : b) >> (8 * (selector & 3)) & 0xff;
        const u32 word     = (selector & 2) != 0 ? a : b;
        const u32 sign     = (0U - (word >> ((selector & 1) != 0 ? 31 : 15) & 1)) & 0xff;
        const u32 special  = selector < 12 ? sign : selector == 12 ? 0 : 0xff;
        result |= (selector < 8 ? plain : special) << (8 * n);
    }
    return result;
}

// Most selectors are the same for all lanes, and bytes.
void permute(Wave& wave, const Instruction& i)
{
    const u32 selectors =
        i.source[2].kind == Operand::Kind::vector ? ~0U : wave.read32(i.source[2]);
    if(i.modified || (selectors & 0xf8f8f8f8) != 0)
    {
        lanewise<&permuted_bytes>(wave, i);
        return;
    }
    const u32* const sources[] = {wave.lanes(i.source[1], wave.temporary[0]).lane,
                                  wave.lanes(i.source[0], wave.temporary[1]).lane};
    const u32* from[4];
    u32 shift[4];
    for(unsigned n = 0; n < 4; ++n)
    {
        from[n]  = sources[byte_of(selectors, n) >> 2];
        shift[n] = 8 * (byte_of(selectors, n) & 3);
    }
    const auto [b0, b1, b2, b3] = from;
    const auto [s0, s1, s2, s3] = shift;
    VectorRegister result;
    CKPROF_INDEPENDENT_LANES
    for(int lane = 0; lane < lane_count; ++lane)
        result.lane[lane] = (b0[lane] >> s0 & 0xff) | (b1[lane] >> s1 & 0xff) << 8 |
                            (b2[lane] >> s2 & 0xff) << 16 | (b3[lane] >> s3 & 0xff) << 24;
    write_lanes(wave, i.destination, result);
}

u32 reversed_bits(u32 value)
{
    value = (value >> 1 & 0x55555555) | (value & 0x55555555) << 1;
    value = (value >> 2 & 0x33333333) | (value & 0x33333333) << 2;
    value = (value >> 4 & 0x0f0f0f0f) | (value & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(value);
}

u32 bit_count(u32 value)
{
    value -= value >> 1 & 0x55555555;
    value = (value & 0x33333333) + (value >> 2 & 0x33333333);
    return ((value + (value >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

// All ones where there is no such bit.
u32 leading_zeros(u32 value)
{ return value == 0 ? ~0U : static_cast<u32>(std::countl_zero(value)); }
u32 trailing_zeros(u32 value)
{ return value == 0 ? ~0U : static_cast<u32>(std::countr_zero(value)); }

u32 field(u32 value, u32 first, u32 count)
{ return value >> (first & 31) & ((1U << (count & 31)) - 1); }
i32 signed_field(i32 value, u32 first, u32 count)
{
    count &= 31;
    const u32 bits = static_cast<u32>(value >> (first & 31)) & ((1U << count) - 1);
    const u32 sign = count == 0 ? 0 : 1U << (count - 1);
    return static_cast<i32>((bits ^ sign) - sign);
}

u32 saturated_byte(i16 value) { return static_cast<u32>(std::clamp<int>(value, 0, 255)); }

constexpr NamedHandler handlers[] = {
    {"v_mov_b32", &lanewise<[](Signed32 a) { return a; }>},
    {"v_mov_b64", &move_pair},
    {"v_not_b32", &lanewise<[](u32 a) { return ~a; }>},
    {"v_bfrev_b32", &lanewise<&reversed_bits>},
    {"v_ffbh_u32", &lanewise<&leading_zeros>},
    {"v_ffbl_b32", &lanewise<&trailing_zeros>},
    {"v_ffbh_i32",
     &lanewise<[](i32 a) { return leading_zeros(static_cast<u32>(a < 0 ? ~a : a)); }>},
    {"v_bcnt_u32_b32", &lanewise<[](u32 a, u32 b) { return bit_count(a) + b; }>},
    {"v_bfm_b32", &lanewise<[](u32 a, u32 b) { return ((1U << (a & 31)) - 1) << (b & 31); }>},
    {"v_bfe_u32", &lanewise<&field>},
    {"v_bfe_i32", &lanewise<&signed_field>},
    {"v_bfi_b32", &lanewise<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>},
    {"v_perm_b32", &permute},
    {"v_alignbit_b32", &lanewise<[](u32 a, u32 b, u32 c) {
         return (static_cast<u32>((b | u64{a} << 32) >> (c & 31)));
     }>},
    {"v_alignbyte_b32", &lanewise<[](u32 a, u32 b, u32 c) {
         return (static_cast<u32>((b | u64{a} << 32) >> (8 * (c & 3))));
     }>},

    {"v_and_b32", &lanewise<[](u32 a, u32 b) { return a & b; }>},
    {"v_or_b32", &lanewise<[](u32 a, u32 b) { return a | b; }>},
    {"v_xor_b32", &lanewise<[](u32 a, u32 b) { return a ^ b; }>},
    {"v_xnor_b32", &lanewise<[](u32 a, u32 b) { return ~(a ^ b); }>},
    {"v_and_or_b32", &lanewise<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>},
    {"v_or3_b32", &lanewise<[](u32 a, u32 b, u32 c) { return a | b | c; }>},
    {"v_xad_u32", &lanewise<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>},

    {"v_lshlrev_b32", &lanewise<[](u32 a, u32 b) { return b << (a & 31); }>},
    {"v_lshrrev_b32", &lanewise<[](u32 a, u32 b) { return (b >> (a & 31)); }>},
    {"v_ashrrev_i32", &lanewise<[](u32 a, i32 b) { return (b >> (a & 31)); }>},
    {"v_lshlrev_b64", &lanewise<[](u32 a, u64 b) { return b << (a & 63); }>},
    {"v_lshrrev_b64", &lanewise<[](u32 a, u64 b) { return (b >> (a & 63)); }>},
    {"v_ashrrev_i64", &lanewise<[](u32 a, i64 b) { return (b >> (a & 63)); }>},
    {"v_lshl_add_u32", &lanewise<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>},
    {"v_add_lshl_u32", &lanewise<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>},
    {"v_lshl_or_b32", &lanewise<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; }>},
    {"v_lshl_add_u64", &lanewise<[](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }>},

    {"v_add3_u32", &lanewise<[](u32 a, u32 b, u32 c) { return a + b + c; }>},

    {"v_mul_lo_u32", &lanewise<[](u32 a, u32 b) { return a * b; }>},
    {"v_mul_hi_u32", &lanewise<[](u32 a, u32 b) { return (static_cast<u32>(u64{a} * b >> 32)); }>},
    {"v_mul_hi_i32", &lanewise<[](i32 a, i32 b) { return (static_cast<i32>(i64{a} * b >> 32)); }>},

    {"v_min_u32", &lanewise<[](u32 a, u32 b) { return std::min(a, b); }>},
    {"v_max_u32", &lanewise<[](u32 a, u32 b) { return std::max(a, b); }>},
    {"v_min_i32", &lanewise<[](i32 a, i32 b) { return std::min(a, b); }>},
    {"v_max_i32", &lanewise<[](i32 a, i32 b) { return std::max(a, b); }>},
    {"v_min3_u32", &lanewise<[](u32 a, u32 b, u32 c) { return std::min(std::min(a, b), c); }>},
    {"v_max3_u32", &lanewise<[](u32 a, u32 b, u32 c) { return std::max(std::max(a, b), c); }>},
    {"v_med3_u32", &lanewise<&median<u32>>},
    {"v_min3_i32", &lanewise<[](i32 a, i32 b, i32 c) { return std::min(std::min(a, b), c); }>},
    {"v_max3_i32", &lanewise<[](i32 a, i32 b, i32 c) { return std::max(std::max(a, b), c); }>},
    {"v_med3_i32", &lanewise<&median<i32>>},

    {"v_lerp_u8", &lanewise<&average_of_bytes>},
    {"v_sat_pk_u8_i16", &lanewise<[](u32 a) {
         return (saturated_byte(static_cast<i16>(a)) | saturated_byte(static_cast<i16>(a >> 16))
                                                           << 8);
     }>},
    {"v_prng_b32", &lanewise<[](u32 a) { return (a << 1 ^ (a >> 31 != 0 ? 197U : 0U)); }>},
};

} // namespace

HandlerTable vector_integer_handlers() { return handlers; }

} // namespace ckprof::emulator
