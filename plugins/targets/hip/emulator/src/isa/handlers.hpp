// SPDX-License-Identifier: MIT
// Every group of instructions has one table of names and functions; the decoder looks them up.
#pragma once

#include <span>
#include <string_view>

#include "isa/instruction.hpp"

namespace ckprof::emulator {

struct NamedHandler
{
    std::string_view name; // as in instructions.def
    Handler execute;
};

using HandlerTable = std::span<const NamedHandler>;

HandlerTable program_handlers();          // branches, barriers, waits: sopp and the program counter
HandlerTable scalar_handlers();           // sop1, sop2, sopc
HandlerTable scalar_immediate_handlers(); // sopk
HandlerTable register_index_handlers();   // vector registers relative to M0
HandlerTable scalar_memory_handlers();    // smem
HandlerTable vector_integer_handlers();   // integers and bits of vop1, vop2, vop3
HandlerTable vector_integer_mad_handlers(); // 16 and 24 bits, results that can saturate
HandlerTable vector_carry_handlers();       // integers with carries, 64-bit products
HandlerTable vector_float_handlers();       // fp32
HandlerTable vector_double_handlers();      // fp64
HandlerTable vector_half_handlers();        // fp16
HandlerTable vector_elementary_handlers();  // reciprocals, roots, exponentials, logarithms, sines
HandlerTable vector_division_handlers();    // steps of divisions
HandlerTable vector_compare_handlers();     // vopc, cndmask
HandlerTable vector_convert_handlers();     // conversions between types
HandlerTable vector_lane_handlers();        // readlane, permutations between lanes, mbcnt
HandlerTable vector_packed_handlers();      // vop3p but for matrices and dot products
HandlerTable vector_dot_handlers();         // dot products, mixed precision
HandlerTable matrix_handlers();             // mfma, smfmac
HandlerTable lds_handlers();                // ds
HandlerTable buffer_handlers();             // mubuf, mtbuf
HandlerTable flat_handlers();               // flat, global, scratch

// Null for an instruction that no table has.
Handler find_handler(std::string_view name);

} // namespace ckprof::emulator
