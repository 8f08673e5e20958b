// SPDX-License-Identifier: MIT
// Sources of packed instructions: which half of a register, or which register of a pair, each of
// two parts reads, and its sign.
#pragma once

#include "core/wave.hpp"
#include "groups/vector_modifiers.hpp"

namespace ckprof::emulator {

inline bool reads_upper(const Instruction& i, unsigned source, unsigned part)
{ return ((part == 0 ? i.op_sel : i.op_sel_high) >> source & 1) != 0; }

inline bool negates(const Instruction& i, unsigned source, unsigned part)
{ return part == 0 ? i.source[source].negate : (i.negate_high >> source & 1) != 0; }

// Whether parts read what lies at their own place, unchanged.
inline bool is_plain_pair(const Instruction& i, unsigned sources)
{
    const unsigned all = (1U << sources) - 1;
    bool plain         = !i.clamp && (i.op_sel & all) == 0 && (i.op_sel_high & all) == all &&
                         (i.negate_high & all) == 0 && !i.cross_lane && !i.sub_dword;
    for(unsigned s = 0; s < sources; ++s) plain = plain && !i.source[s].negate;
    return plain;
}

// 16 bits of each lane.
inline void read_half(const Wave& wave,
                      const Instruction& i,
                      unsigned source,
                      unsigned part,
                      Format format,
                      VectorRegister& to)
{
    const VectorRegister& raw = wave.lanes(i.source[source], to);
    const unsigned shift      = reads_upper(i, source, part) ? 16 : 0;
    const uint32_t sign       = negates(i, source, part) ? 0x8000 : 0;
    for(int lane = 0; lane < lane_count; ++lane)
        to.lane[lane] = (raw.lane[lane] >> shift & 0xffff) ^ sign;
    if(format == Format::float16 && wave.mode.flush_64_inputs) flush_denormals(&to, format);
}

} // namespace ckprof::emulator
