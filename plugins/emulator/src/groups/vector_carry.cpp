// SPDX-License-Identifier: MIT
// Integers with a carry per lane in scalar registers.
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

enum class Kind : uint8_t
{
    add,
    subtract,
    reverse, // second minus first
};

// Carries of lanes that are off are 0.
template <Kind kind, bool with_carry>
void add_with_carry(Wave& wave, const Instruction& i)
{
    VectorRegister room[2][2];
    read_source(wave, i, 0, Format::bits32, room[0]);
    read_source(wave, i, 1, Format::bits32, room[1]);
    const uint32_t* a       = (kind == Kind::reverse ? room[1] : room[0])->lane;
    const uint32_t* b       = (kind == Kind::reverse ? room[0] : room[1])->lane;
    const LaneMask carry_in = with_carry ? wave.read64(i.source[2]) : 0;
    const LaneMask lanes    = written_lanes(wave, i);
    alignas(64) uint8_t carries[lane_count];
    VectorRegister result;
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const uint64_t carry = carry_in >> lane & 1;
        const uint64_t exact =
            kind == Kind::add ? uint64_t{a[lane]} + b[lane] + carry : a[lane] - (b[lane] + carry);
        carries[lane]        = static_cast<uint8_t>(exact >> 32 & 1);
        const uint32_t limit = kind == Kind::add ? ~0U : 0;
        result.lane[lane]    = i.clamp && carries[lane] != 0 ? limit : static_cast<uint32_t>(exact);
    }
    write_result(wave, i, Format::bits32, false, &result, lanes);
    wave.write(i.scalar_destination, mask_of(carries) & wave.exec());
}

// 32 by 32 bits plus 64; the carry is the 65th bit.
template <typename Narrow, typename Wide>
void multiply_add(Wave& wave, const Instruction& i)
{
    VectorRegister room[4];
    const VectorRegister& a    = wave.lanes(i.source[0], room[0]);
    const VectorRegister& b    = wave.lanes(i.source[1], room[1]);
    const VectorRegister& low  = wave.lanes(i.source[2], room[2]);
    const VectorRegister& high = wave.lanes(i.source[2], room[3], 1);
    VectorRegister results[2];
    alignas(64) uint8_t carries[lane_count];
    CKPROF_INDEPENDENT_LANES
    for(int lane = 0; lane < lane_count; ++lane)
    {
        const Wide product =
            Wide{static_cast<Narrow>(a.lane[lane])} * static_cast<Narrow>(b.lane[lane]);
        const uint64_t addend = low.lane[lane] | uint64_t{high.lane[lane]} << 32;
        const uint64_t sum    = static_cast<uint64_t>(product) + addend;
        // of signed sums the sign that the exact result has
        const uint64_t carried = sum < addend ? 1 : 0;
        const uint64_t signs =
            std::is_signed_v<Wide> ? (static_cast<uint64_t>(product) >> 63) + (addend >> 63) : 0;
        carries[lane]         = static_cast<uint8_t>((carried + signs) & 1);
        results[0].lane[lane] = static_cast<uint32_t>(sum);
        results[1].lane[lane] = static_cast<uint32_t>(sum >> 32);
    }
    write_lanes(wave, i.destination, results[0]);
    write_lanes(wave, i.destination, results[1], 1);
    wave.write(i.scalar_destination, mask_of(carries) & wave.exec());
}

constexpr NamedHandler handlers[] = {
    {"v_add_co_u32", &add_with_carry<Kind::add, false>},
    {"v_sub_co_u32", &add_with_carry<Kind::subtract, false>},
    {"v_subrev_co_u32", &add_with_carry<Kind::reverse, false>},
    {"v_addc_co_u32", &add_with_carry<Kind::add, true>},
    {"v_subb_co_u32", &add_with_carry<Kind::subtract, true>},
    {"v_subbrev_co_u32", &add_with_carry<Kind::reverse, true>},
    {"v_mad_u64_u32", &multiply_add<uint32_t, uint64_t>},
    {"v_mad_i64_i32", &multiply_add<int32_t, int64_t>},
};

} // namespace

HandlerTable vector_carry_handlers() { return handlers; }

} // namespace ckprof::emulator
