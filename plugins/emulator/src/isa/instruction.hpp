// SPDX-License-Identifier: MIT
// One decoded instruction: what it is, where its operands are, and the function that executes it.
#pragma once

#include <cstdint>

namespace ckprof::emulator {

struct Wave;
struct Instruction;

using Handler = void (*)(Wave&, const Instruction&);

enum class Architecture : uint8_t
{
    gfx90a = 1, // the values are the bits of instructions.def
    gfx942 = 2,
    gfx950 = 4,
};

enum class Encoding : uint8_t
{
    sop2,
    sopk,
    sop1,
    sopc,
    sopp,
    smem,
    vop2,
    vop1,
    vopc,
    vop3,
    vop3p,
    ds,
    flat,
    scratch,
    global,
    mubuf,
    mtbuf,
};

// A row of instructions.def.
struct InstructionInfo
{
    Encoding encoding;
    uint16_t opcode;
    const char* name;      // without the suffix of its encoding
    uint8_t architectures; // bits of Architecture
    uint8_t widths[4];     // 32-bit registers of destination and sources, 0 where there is none
};

// Numbers of scalar registers as instructions name them.
namespace scalar {
constexpr unsigned flat_scratch = 102, xnack_mask = 104, vcc = 106, m0 = 124, exec = 126;
} // namespace scalar

struct Operand
{
    enum class Kind : uint8_t
    {
        none,
        scalar,   // number 0 to 127, as in namespace scalar
        vector,   // number 0 to 255; 256 to 511 are accumulation registers
        constant, // value, also of literals
        scc,
        vccz,
        execz,
        lds_direct,
        aperture, // number 235 to 238: begin and end of LDS and scratch in flat addresses
    };
    Kind kind       = Kind::none;
    uint8_t dwords  = 0;
    uint16_t number = 0;
    uint64_t value  = 0; // of constants, in the format that the instruction reads
    bool negate     = false;
    bool absolute   = false;
};

// Sub-dword addressing: which bytes of an operand, sign extension, what happens to the rest.
struct SubDword
{
    uint8_t select[3] = {
        6, 6, 6}; // of destination, first and second source; 0-3 bytes, 4-5 words, 6 dword
    uint8_t rest        = 0; // of the destination: 0 zero, 1 sign, 2 keep
    bool sign_extend[2] = {false, false};
};

// Data parallel primitives: the lane that the first source is read from.
struct CrossLane
{
    uint16_t control   = 0;
    uint8_t row_mask   = 0xf;
    uint8_t bank_mask  = 0xf;
    bool bound_control = false; // lanes without a source read 0 instead of keeping their result
};

struct Instruction
{
    Handler execute             = nullptr;
    const InstructionInfo* info = nullptr;
    uint32_t address            = 0; // bytes from the begin of the code
    uint8_t bytes               = 0;

    Operand destination;
    Operand source[3];
    Operand scalar_destination; // carry of vop3, mask of vopc
    // memory: source[0] is the address (smem: base), source[1] and [2] are data of ds and flat;
    // mubuf and smem have their data in destination, whatever the direction
    Operand resource;      // four scalar registers of a buffer; scales of A of v_mfma_scale
    Operand scalar_offset; // soffset of mubuf and smem, saddr of flat; scales of B

    int32_t immediate = 0;  // simm16, sign-extended; offset of memory instructions
    uint8_t offset[2] = {}; // of ds, each

    // modifiers
    bool clamp              = false;
    uint8_t output_modifier = 0; // 1: times 2, 2: times 4, 3: half
    uint8_t op_sel          = 0; // bit per source, bit 3: destination
    uint8_t op_sel_high     = 0; // of packed operations, bit per source
    uint8_t negate_high     = 0; // of packed operations, bit per source; low: Operand::negate
    uint8_t cbsz = 0, abid = 0, blgp = 0;      // of matrix operations
    bool sc0 = false, sc1 = false, nt = false; // sc0: atomics return the old value
    bool offset_enabled = false, index_enabled = false, to_lds = false; // of mubuf
    bool sub_dword = false, cross_lane = false;
    // a vector instruction with any modifier: of a source, of the result, sub-dword or cross-lane
    bool modified = false;
    SubDword sdwa;
    CrossLane dpp;

    const Instruction* target = nullptr; // of branches within the code
};

} // namespace ckprof::emulator
