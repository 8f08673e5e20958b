// SPDX-License-Identifier: MIT
// How undefined bits of sources reach the result, by instruction.
#pragma once

#include <cstdint>

#include "isa/instruction.hpp"

namespace ckprof::emulator {

enum class Rule : uint8_t
{
    none,       // no values
    branch_scc, // decides about control flow
    branch_vcc,
    scalar,      // any undefined bit of a source makes the result undefined
    scalar_bits, // bit by bit
    compare,     // a bit per lane
    vector,      // any undefined bit that is read makes the lane's result undefined
    bits,        // bit by bit: moves and logic
    bits_and,    // where a defined bit of the other source is 0, the result is defined
    sum,         // undefined bits reach those above them: sums, products
    wide_sum,    // of 64 bits
    shift_left,  // of the second source by the first
    shift_right,
    bit_field,     // v_bfe: first source, offset, width
    bit_insert,    // v_bfi
    and_or,        // v_and_or_b32
    shift_or,      // v_lshl_or_b32
    permute_bytes, // v_perm_b32
    align_bits,    // v_alignbit_b32
    align_bytes,
    select,    // v_cndmask_b32
    pair,      // two 16-bit results from two sources
    packed_16, // both halves by op_sel
    packed_32, // both registers by op_sel
    read_lane,
    read_first_lane,
    write_lane,
    matrix,
    load,
    store,
    lane_exchange, // ds_permute and relatives
};

struct DefinednessRule
{
    Rule rule            = Rule::none;
    bool writes_scc      = false;
    bool reads_scc       = false;
    bool half            = false; // 16 bits of each source are read; of memory: are loaded
    bool upper_half      = false; // of memory: the upper 16 bits of a register are its data
    bool extends_sign    = false; // what is loaded
    bool mask_source     = false; // the third source is a bit per lane
    uint32_t source_bits = ~0U;   // of 32-bit sources that are read
};

DefinednessRule definedness_rule(const Instruction& instruction);

} // namespace ckprof::emulator
