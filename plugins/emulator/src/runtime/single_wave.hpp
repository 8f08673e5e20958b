// SPDX-License-Identifier: MIT
// A workgroup that executes given instructions: how tests hold single instructions against
// references.
#pragma once

#include <cstddef>
#include <cstdint>

#define CKPROF_EXPORT __attribute__((visibility("default")))

extern "C" {

struct ckprof_emulator_state
{
    uint32_t scalar[128]; // by the number that instructions use: 106 vcc, 124 m0, 126 exec
    uint32_t scc;
    uint32_t mode; // MODE register: rounding 3:0, denormals 7:4, dx10_clamp 8, ieee 9
    uint8_t* lds;
    uint32_t lds_bytes;
    uint32_t scratch_lane_bytes;
    uint32_t scratch_buffer;  // first of four scalar registers that get it, if there is scratch
    uint32_t vector[512][64]; // accumulation registers from 256 on
};

struct ckprof_emulator_range
{ uint64_t begin, bytes; };

// Executes the waves of one workgroup from the first word on until s_endpgm. LDS is that of the
// first state. 0 if that was reached, else the fault (from 1 on, in the order of Fault) and a
// message. With checks (names separated by commas) and no fault, the message has one finding per
// line.
CKPROF_EXPORT int ckprof_emulator_execute(const char* architecture,
                                          const uint32_t* words,
                                          size_t word_count,
                                          ckprof_emulator_state* states,
                                          size_t state_count,
                                          const ckprof_emulator_range* allocations,
                                          size_t allocation_count,
                                          const char* checks,
                                          char* message,
                                          size_t message_bytes);

// The time that the waves of one workgroup take, `count` times on one compute unit with room for
// `slots` of it at once, as JSON. `table` is what Machine::parse reads. Otherwise as above.
CKPROF_EXPORT int ckprof_emulator_time(const char* architecture,
                                       const uint32_t* words,
                                       size_t word_count,
                                       ckprof_emulator_state* states,
                                       size_t state_count,
                                       const ckprof_emulator_range* allocations,
                                       size_t allocation_count,
                                       const char* table,
                                       uint32_t count,
                                       uint32_t slots,
                                       char* text,
                                       size_t text_bytes);

// One line per instruction: its bytes, name and operands. Returns the bytes that the text needs.
CKPROF_EXPORT size_t ckprof_emulator_disassemble(const char* architecture,
                                                 const uint32_t* words,
                                                 size_t word_count,
                                                 char* text,
                                                 size_t text_bytes);

// Names of the instructions in instructions.def that no group executes, separated by spaces, for an
// architecture; returns the bytes that the text needs with its end.
CKPROF_EXPORT size_t ckprof_emulator_unsupported(const char* architecture,
                                                 char* text,
                                                 size_t text_bytes);
}
