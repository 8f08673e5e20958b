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

HandlerTable program_handlers();        // branches, barriers, waits: sopp and the program counter
HandlerTable scalar_handlers();         // sop1, sop2, sopk, sopc
HandlerTable scalar_memory_handlers();  // smem
HandlerTable vector_integer_handlers(); // integers and bits of vop1, vop2, vop3
HandlerTable vector_float_handlers();   // fp32, fp64, fp16, bf16 of vop1, vop2, vop3
HandlerTable vector_compare_handlers(); // vopc, cndmask
HandlerTable vector_convert_handlers(); // conversions between types
HandlerTable vector_lane_handlers();    // readlane, permutations between lanes, mbcnt
HandlerTable vector_packed_handlers();  // vop3p but for matrices
HandlerTable matrix_handlers();         // mfma, smfmac
HandlerTable lds_handlers();            // ds: reads and writes
HandlerTable lds_atomic_handlers();     // ds
HandlerTable lds_lane_handlers();       // ds: between lanes
HandlerTable buffer_handlers();         // mubuf: loads and stores
HandlerTable buffer_atomic_handlers();  // mubuf
HandlerTable flat_handlers();           // flat, global, scratch: loads and stores
HandlerTable flat_atomic_handlers();    // flat, global

// Null for an instruction that no table has.
Handler find_handler(std::string_view name);

} // namespace ckprof::emulator
