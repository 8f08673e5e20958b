// SPDX-License-Identifier: MIT
// Operands of matrix instructions as planes: plane e has element e of every lane as a number that
// can be multiplied.
#pragma once

#include <bit>
#include <cstdint>

#include "core/wave.hpp"
#include "groups/small_float.hpp"
#include "isa/decoder.hpp"

namespace ckprof::emulator::matrix {

template <typename T>
using Plane = T[lane_count];

inline Architecture architecture_of(const Wave& wave) { return wave.program->architecture(); }

// Codes of `bits` bits, packed without gaps over consecutive registers, through convert(word),
// which ignores what lies above a code.
template <unsigned bits, unsigned elements, typename T, typename Convert>
void unpack(const VectorRegister* registers, Plane<T>* planes, Convert convert)
{
    for(unsigned e = 0; e < elements; ++e)
    {
        const unsigned first = e * bits / 32, shift = e * bits % 32;
        const uint32_t* low = registers[first].lane;
        T* plane            = planes[e];
        if constexpr(32 % bits != 0)
            if(shift + bits > 32)
            {
                const uint32_t* high = registers[first + 1].lane;
                for(int lane = 0; lane < lane_count; ++lane)
                    plane[lane] = convert(low[lane] >> shift | high[lane] << (32 - shift));
                continue;
            }
        for(int lane = 0; lane < lane_count; ++lane) plane[lane] = convert(low[lane] >> shift);
    }
}

template <typename Format, unsigned elements, bool flush_denormals = false>
void unpack_float(const VectorRegister* registers, Plane<float>* planes)
{
    unpack<Format::bits, elements>(registers, planes, [](uint32_t word) {
        return std::bit_cast<float>(Format::template to_float<flush_denormals>(word));
    });
}

// Types of operands: what a lane's elements are multiplied as, and how they are read.

struct Fp32
{
    using Number                    = float;
    static constexpr unsigned bits  = 32;
    static constexpr bool flushable = false;
    template <unsigned elements>
    static void read(Architecture, const VectorRegister* registers, Plane<float>* planes)
    {
        unpack<32, elements>(
            registers, planes, [](uint32_t word) { return std::bit_cast<float>(word); });
    }
};

// fp32 rounded to 10 bits of mantissa, to nearest even.
struct Xf32
{
    using Number                    = float;
    static constexpr unsigned bits  = 32;
    static constexpr bool flushable = false;
    template <unsigned elements>
    static void read(Architecture, const VectorRegister* registers, Plane<float>* planes)
    {
        unpack<32, elements>(registers, planes, [](uint32_t word) {
            const bool finite      = (word & 0x7f800000) != 0x7f800000;
            const uint32_t rounded = word + 0xfff + (word >> 13 & 1);
            // a NaN stays one even if its payload is in the bits that go
            const uint32_t special = word | ((word & 0x1fff) != 0 ? 0x400000 : 0);
            return std::bit_cast<float>((finite ? rounded : special) & ~uint32_t{0x1fff});
        });
    }
};

// MI200 takes denormals of fp16 and bf16 as zero, its successors keep them.
struct Fp16
{
    using Number                    = float;
    static constexpr unsigned bits  = 16;
    static constexpr bool flushable = true;
    template <unsigned elements>
    static void
    read(Architecture architecture, const VectorRegister* registers, Plane<float>* planes)
    {
        if(architecture == Architecture::gfx90a)
            unpack_float<Half, elements, true>(registers, planes);
        else
            unpack_float<Half, elements>(registers, planes);
    }
};

struct Bfp16
{
    using Number                    = float;
    static constexpr unsigned bits  = 16;
    static constexpr bool flushable = true;
    template <unsigned elements>
    static void
    read(Architecture architecture, const VectorRegister* registers, Plane<float>* planes)
    {
        const uint32_t least = architecture == Architecture::gfx90a ? 0x80 : 0;
        unpack<16, elements>(registers, planes, [least](uint32_t word) {
            const uint32_t kept = (word & 0x7fff) < least ? word & 0x8000 : word;
            return std::bit_cast<float>(kept << 16);
        });
    }
};

// fp8 and bf8: without -0 and infinities on gfx942, as OCP has them on gfx950.
template <typename Fnuz, typename Ocp>
struct F8
{
    using Number                    = float;
    static constexpr unsigned bits  = 8;
    static constexpr bool flushable = false;
    template <unsigned elements>
    static void
    read(Architecture architecture, const VectorRegister* registers, Plane<float>* planes)
    {
        if(architecture == Architecture::gfx942)
            unpack_float<Fnuz, elements>(registers, planes);
        else
            unpack_float<Ocp, elements>(registers, planes);
    }
};
using F8E4m3 = F8<Fp8Fnuz, Fp8>;
using F8E5m2 = F8<Bf8Fnuz, Bf8>;

struct I8
{
    using Number                    = int32_t;
    static constexpr unsigned bits  = 8;
    static constexpr bool flushable = false;
    template <unsigned elements>
    static void read(Architecture, const VectorRegister* registers, Plane<int32_t>* planes)
    {
        unpack<8, elements>(registers, planes, [](uint32_t word) {
            return static_cast<int32_t>(word << 24) >> 24;
        });
    }
};

// The lane that lane `lane` takes its part of B from: BLGP broadcasts a half or a quarter of the
// lanes, or rotates them by a quarter.
constexpr unsigned lane_of_b(unsigned blgp, unsigned lane)
{
    switch(blgp)
    {
    case 1: return lane % 32;
    case 2: return 32 + lane % 32;
    case 3: return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7: return 16 * (blgp - 4) + lane % 16;
    default: return lane;
    }
}

constexpr unsigned most_registers = 8; // of A or B

// The registers of A or B; copies in `room` where they are none or their lanes are permuted.
inline const VectorRegister* registers_of(
    const Wave& wave, const Operand& operand, unsigned count, unsigned blgp, VectorRegister* room)
{
    const bool vector = operand.kind == Operand::Kind::vector;
    if(vector && blgp == 0) return &wave.vector[operand.number];
    for(unsigned r = 0; r < count; ++r)
        if(!vector)
            fill(room[r], wave.read32(operand));
        else
            for(unsigned lane = 0; lane < lane_count; ++lane)
                room[r].lane[lane] = wave.vector[operand.number + r].lane[lane_of_b(blgp, lane)];
    return room;
}

template <typename Type, unsigned elements>
void read_operand(const Wave& wave,
                  const Operand& operand,
                  unsigned blgp,
                  Plane<typename Type::Number>* planes)
{
    VectorRegister room[most_registers];
    Type::template read<elements>(
        architecture_of(wave),
        registers_of(wave, operand, elements * Type::bits / 32, blgp, room),
        planes);
}

} // namespace ckprof::emulator::matrix
