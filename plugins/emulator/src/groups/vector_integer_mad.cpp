// SPDX-License-Identifier: MIT
// Integers of 16 and 24 bits, sums of products and of differences: results that can saturate.
#include <algorithm>
#include <array>

#include "groups/integers.hpp"
#include "groups/saturation.hpp"
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

i64 signed24(u32 value) { return static_cast<i32>(value << 8) >> 8; }
i64 unsigned24(u32 value) { return value & 0xffffff; }

u32 byte_of(u32 value, unsigned n) { return value >> (8 * n) & 0xff; }
u32 distance(u32 a, u32 b) { return a > b ? a - b : b - a; }

// Sum of absolute differences of four bytes; masked: bytes of the second that are 0 do not count.
template <bool masked>
u32 distance_of_bytes(u32 a, u32 b)
{
    u32 total = 0;
    for(unsigned n = 0; n < 4; ++n)
        total += masked && byte_of(b, n) == 0 ? 0 : distance(byte_of(a, n), byte_of(b, n));
    return total;
}

// Four sums at successive bytes of the first source, added to 16 bits each.
template <bool masked>
u64 distances_of_windows(u64 a, u32 b, u64 c)
{
    u64 result = 0;
    for(unsigned n = 0; n < 4; ++n)
    {
        const u32 sum = distance_of_bytes<masked>(static_cast<u32>(a >> (8 * n)), b);
        result |= u64{static_cast<u16>(sum + static_cast<u16>(c >> (16 * n)))} << (16 * n);
    }
    return result;
}

// The same, masked, added to 32 bits each.
void four_distances(Wave& wave, const Instruction& i)
{
    VectorRegister room[2][2], results[4], addend;
    read_source(wave, i, 0, Format::bits64, room[0]);
    read_source(wave, i, 1, Format::bits32, room[1]);
    for(unsigned n = 0; n < 4; ++n)
    {
        const VectorRegister& c = wave.lanes(i.source[2], addend, n);
        for(int lane = 0; lane < lane_count; ++lane)
        {
            const u64 a = room[0][0].lane[lane] | u64{room[0][1].lane[lane]} << 32;
            results[n].lane[lane] =
                distance_of_bytes<true>(static_cast<u32>(a >> (8 * n)), room[1][0].lane[lane]) +
                c.lane[lane];
        }
    }
    for(unsigned n = 0; n < 4; ++n) write_lanes(wave, i.destination, results[n], n);
}

// Any function of three bits: the instruction has its table, for 000 first.
template <Format format>
void bit_function(Wave& wave, const Instruction& i)
{
    VectorRegister room[3];
    for(unsigned s = 0; s < 3; ++s) read_source(wave, i, s, format, &room[s]);
    const auto table = static_cast<u32>(i.immediate);
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const u32 a = room[0].lane[lane], b = room[1].lane[lane], c = room[2].lane[lane];
        u32 result = 0;
        for(unsigned row = 0; row < 8; ++row)
            result |= (0U - (table >> row & 1)) & ((row & 4) != 0 ? a : ~a) &
                      ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
        room[0].lane[lane] = result;
    }
    write_result(wave, i, format, true, room, wave.exec());
}

template <typename T>
Kept<u16> shifted_bytes(i32 a, i32 b, u32 shift)
{
    const auto byte = [&](i32 value) {
        return static_cast<uint8_t>(saturated<T>(value >> (shift & 31)));
    };
    return {static_cast<u16>(byte(a) | byte(b) << 8)};
}

constexpr auto sum        = [](i64 a, i64 b) { return a + b; };
constexpr auto difference = [](i64 a, i64 b) { return a - b; };
constexpr auto reversed   = [](i64 a, i64 b) { return b - a; };
constexpr auto mad        = [](i64 a, i64 b, i64 c) { return a * b + c; };
constexpr auto mad_u24    = [](u32 a, u32 b, i64 c) { return unsigned24(a) * unsigned24(b) + c; };
constexpr auto mad_i24    = [](u32 a, u32 b, i64 c) { return signed24(a) * signed24(b) + c; };

constexpr auto sad_u8    = [](u32 a, u32 b, i64 c) { return c + distance_of_bytes<false>(a, b); };
constexpr auto msad_u8   = [](u32 a, u32 b, i64 c) { return c + distance_of_bytes<true>(a, b); };
constexpr auto sad_hi_u8 = [](u32 a, u32 b, i64 c) {
    return c + (i64{distance_of_bytes<false>(a, b)} << 16);
};
constexpr auto sad_u16 = [](u32 a, u32 b, i64 c) {
    return c + distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16);
};
constexpr auto sad_u32 = [](u32 a, u32 b, i64 c) { return c + distance(a, b); };

constexpr NamedHandler handlers[] = {
    {"v_add_u32", saturating2<u32, u32, sum>},
    {"v_sub_u32", saturating2<u32, u32, difference>},
    {"v_subrev_u32", saturating2<u32, u32, reversed>},
    {"v_add_i32", saturating2<i32, i32, sum>},
    {"v_sub_i32", saturating2<i32, i32, difference>},
    {"v_add_u16", saturating2<u16, u16, sum>},
    {"v_sub_u16", saturating2<u16, u16, difference>},
    {"v_subrev_u16", saturating2<u16, u16, reversed>},
    {"v_add_i16", saturating2<Kept<i16>, i16, sum>},
    {"v_sub_i16", saturating2<Kept<i16>, i16, difference>},

    {"v_mad_u16", saturating3<Kept<u16>, u16, u16, mad>},
    {"v_mad_i16", saturating3<Kept<i16>, i16, i16, mad>},
    {"v_mad_legacy_u16", saturating3<u16, u16, u16, mad>},
    {"v_mad_legacy_i16", saturating3<i16, i16, i16, mad>},
    {"v_mad_u32_u16", saturating3<u32, u16, u32, mad>},
    {"v_mad_i32_i16", saturating3<i32, i16, i32, mad>},
    {"v_mad_u32_u24", saturating3<u32, u32, u32, mad_u24>},
    {"v_mad_i32_i24", saturating3<i32, u32, i32, mad_i24>},
    {"v_mul_u32_u24",
     &lanewise<[](u32 a, u32 b) { return static_cast<u32>(unsigned24(a) * unsigned24(b)); }>},
    {"v_mul_hi_u32_u24", &lanewise<[](u32 a, u32 b) {
         return static_cast<u32>((unsigned24(a) * unsigned24(b)) >> 32);
     }>},
    {"v_mul_i32_i24",
     &lanewise<[](u32 a, u32 b) { return static_cast<u32>(signed24(a) * signed24(b)); }>},
    {"v_mul_hi_i32_i24",
     &lanewise<[](u32 a, u32 b) { return static_cast<u32>((signed24(a) * signed24(b)) >> 32); }>},
    {"v_mul_lo_u16", &lanewise<[](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); }>},
    {"v_lshlrev_b16", &lanewise<[](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); }>},
    {"v_lshrrev_b16", &lanewise<[](u16 a, u16 b) { return static_cast<u16>((b >> (a & 15))); }>},
    {"v_ashrrev_i16", &lanewise<[](u16 a, i16 b) { return static_cast<i16>((b >> (a & 15))); }>},
    {"v_min_u16", &lanewise<[](u16 a, u16 b) { return std::min(a, b); }>},
    {"v_max_u16", &lanewise<[](u16 a, u16 b) { return std::max(a, b); }>},
    {"v_min_i16", &lanewise<[](i16 a, i16 b) { return std::min(a, b); }>},
    {"v_max_i16", &lanewise<[](i16 a, i16 b) { return std::max(a, b); }>},
    {"v_min3_u16", &lanewise<[](u16 a, u16 b, u16 c) { return Kept<u16>{std::min({a, b, c})}; }>},
    {"v_max3_u16", &lanewise<[](u16 a, u16 b, u16 c) { return Kept<u16>{std::max({a, b, c})}; }>},
    {"v_med3_u16", &lanewise<[](u16 a, u16 b, u16 c) { return Kept<u16>{median(a, b, c)}; }>},
    {"v_min3_i16", &lanewise<[](i16 a, i16 b, i16 c) { return Kept<i16>{std::min({a, b, c})}; }>},
    {"v_max3_i16", &lanewise<[](i16 a, i16 b, i16 c) { return Kept<i16>{std::max({a, b, c})}; }>},
    {"v_med3_i16", &lanewise<[](i16 a, i16 b, i16 c) { return Kept<i16>{median(a, b, c)}; }>},

    {"v_sad_u8", saturating3<u32, u32, u32, sad_u8>},
    {"v_msad_u8", saturating3<u32, u32, u32, msad_u8>},
    {"v_sad_hi_u8", saturating3<u32, u32, u32, sad_hi_u8>},
    {"v_sad_u16", saturating3<u32, u32, u32, sad_u16>},
    {"v_sad_u32", saturating3<u32, u32, u32, sad_u32>},
    {"v_qsad_pk_u16_u8", &lanewise<&distances_of_windows<false>>},
    {"v_mqsad_pk_u16_u8", &lanewise<&distances_of_windows<true>>},
    {"v_mqsad_u32_u8", &four_distances},

    {"v_bitop3_b32", &bit_function<Format::bits32>},
    {"v_bitop3_b16", &bit_function<Format::bits16>},
    {"v_ashr_pk_i8_i32", &lanewise<&shifted_bytes<int8_t>>},
    {"v_ashr_pk_u8_i32", &lanewise<&shifted_bytes<uint8_t>>},
};

} // namespace

HandlerTable vector_integer_mad_handlers() { return handlers; }

} // namespace ckprof::emulator
