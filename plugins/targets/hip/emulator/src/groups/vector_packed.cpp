// SPDX-License-Identifier: MIT
// Two values of a register, or of a pair of registers, at once.
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

// A pair of fp32 values or of dwords: op_sel says which register the first result reads of each
// source, op_sel_high which one the second does.
template <auto operation, unsigned sources>
void pair_of_dwords(Wave& wave, const Instruction& i)
{
    VectorRegister results[2];
    const HostRounding rounding(wave.mode, Format::float32);
    for(unsigned part = 0; part < 2; ++part)
    {
        VectorRegister room[3];
        const unsigned select = part == 0 ? i.op_sel : i.op_sel_high;
        const float* values[3];
        for(unsigned s = 0; s < sources; ++s)
        {
            const VectorRegister& raw = wave.lanes(i.source[s], room[s], select >> s & 1);
            const bool negate = part == 0 ? i.source[s].negate : (i.negate_high >> s & 1) != 0;
            for(int lane = 0; lane < lane_count; ++lane)
                room[s].lane[lane] = raw.lane[lane] ^ (negate ? 0x80000000 : 0);
            values[s] = reinterpret_cast<const float*>(room[s].lane);
        }
        for(int lane = 0; lane < lane_count; ++lane)
            results[part].lane[lane] = std::bit_cast<uint32_t>(
                operation(values[0][lane], values[1][lane], sources > 2 ? values[2][lane] : 0));
    }
    write_lanes(wave, i.destination, results[0]);
    write_lanes(wave, i.destination, results[1], 1);
}

void move_pair(Wave& wave, const Instruction& i)
{
    VectorRegister room[2];
    const VectorRegister first  = wave.lanes(i.source[0], room[0], i.op_sel & 1);
    const VectorRegister second = wave.lanes(i.source[1], room[1], i.op_sel >> 1 & 1);
    write_lanes(wave, i.destination, first);
    write_lanes(wave, i.destination, second, 1);
}

constexpr NamedHandler handlers[] = {
    {"v_pk_add_f32", &pair_of_dwords<[](float a, float b, float) { return a + b; }, 2>},
    {"v_pk_mul_f32", &pair_of_dwords<[](float a, float b, float) { return a * b; }, 2>},
    {"v_pk_fma_f32",
     &pair_of_dwords<[](float a, float b, float c) { return __builtin_fmaf(a, b, c); }, 3>},
    {"v_pk_mov_b32", &move_pair},
};

} // namespace

HandlerTable vector_packed_handlers() { return handlers; }

} // namespace ckprof::emulator
