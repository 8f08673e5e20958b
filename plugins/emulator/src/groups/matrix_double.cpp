// SPDX-License-Identifier: MIT
// Products of fp64 matrices. A lane has one element of A and B; results are pairs of registers.
#include <cmath>

#include "groups/matrix_product.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

using namespace matrix;

struct Doubles
{ double lane[lane_count]; };

void read_doubles(
    const Wave& wave, const Operand& operand, unsigned pair, bool negative, Doubles& to)
{
    const double sign = negative ? -1 : 1;
    for(unsigned lane = 0; lane < lane_count; ++lane)
    {
        uint64_t bits = operand.value;
        if(operand.kind == Operand::Kind::vector)
        {
            const VectorRegister* registers = &wave.vector[operand.number + 2 * pair];
            bits = registers[0].lane[lane] | uint64_t{registers[1].lane[lane]} << 32;
        }
        to.lane[lane] = sign * std::bit_cast<double>(bits);
    }
}

template <typename S>
void mfma_f64(Wave& wave, const Instruction& i)
{
    // BLGP negates A, B and C from gfx942 on
    const bool negates      = architecture_of(wave) != Architecture::gfx90a;
    const unsigned negative = negates ? i.blgp : 0, blgp = negates ? 0 : i.blgp;
    constexpr unsigned results = S::blocks == 1 ? S::registers : 1;
    Doubles a, b_lanes, b, sums[results];
    read_doubles(wave, i.source[0], 0, (negative & 1) != 0, a);
    read_doubles(wave, i.source[1], 0, (negative & 2) != 0, b_lanes);
    for(unsigned lane = 0; lane < lane_count; ++lane)
        b.lane[lane] = b_lanes.lane[lane_of_b(blgp, lane)];
    // a lane has column lane % size of its block, and row lane / stride of every four
    constexpr unsigned stride = S::size * S::blocks; // lanes of one k
    unsigned first_row[lane_count];
    for(unsigned lane = 0; lane < lane_count; ++lane)
        first_row[lane] =
            block_of_a(i, S::blocks, lane % stride / S::size) * S::size + lane / stride;
    for(unsigned r = 0; r < results; ++r)
    {
        read_doubles(wave, i.source[2], r, (negative & 4) != 0, sums[r]);
        for(unsigned group = 0; group < S::groups; ++group)
            for(unsigned lane = 0; lane < lane_count; ++lane)
                sums[r].lane[lane] = std::fma(a.lane[group * stride + first_row[lane] + 4 * r],
                                              b.lane[group * stride + lane % stride],
                                              sums[r].lane[lane]);
    }
    for(unsigned r = 0; r < results; ++r)
        for(unsigned lane = 0; lane < lane_count; ++lane)
        {
            const auto bits = std::bit_cast<uint64_t>(sums[r].lane[lane]);
            wave.result(i.destination, 2 * r).lane[lane]     = static_cast<uint32_t>(bits);
            wave.result(i.destination, 2 * r + 1).lane[lane] = static_cast<uint32_t>(bits >> 32);
        }
}

constexpr NamedHandler handlers[] = {
    {"v_mfma_f64_16x16x4_f64", &mfma_f64<Shape<16, 4>>},
    {"v_mfma_f64_4x4x4_4b_f64", &mfma_f64<Shape<4, 4, 4>>},
};

} // namespace

HandlerTable matrix_double_handlers() { return handlers; }

} // namespace ckprof::emulator
