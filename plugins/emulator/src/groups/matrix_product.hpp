// SPDX-License-Identifier: MIT
// The product of planes, added to what accumulates.
//
// AMD's documents do not say in which order the products of one instruction are added. Here the sum
// begins with C, the products follow as lanes hold them (the first group of lanes along K, element
// by element, then the next group; that is the order of k of dense operands), each exact, and the
// sum is rounded to nearest even after each.
#pragma once

#include <cmath>
#include <cstring>

#include "groups/matrix_operands.hpp"

namespace ckprof::emulator::matrix {

// M x N x K of an instruction with M = N, times a number of blocks. Lanes of A hold row
// lane % M, those of B column lane % M; the blocks follow each other, and then the lanes start
// again with the next K.
template <unsigned size_, unsigned k, unsigned blocks_ = 1>
struct Shape
{
    static constexpr unsigned size = size_, blocks = blocks_;
    static constexpr unsigned per_lane  = size * k * blocks / lane_count; // elements of A or B
    static constexpr unsigned groups    = lane_count / (size * blocks);   // of lanes along K
    static constexpr unsigned registers = size * size / lane_count;       // of each block's results
};

// A vector register's 64 numbers as values that fit the host's registers.
template <typename T>
struct Vectors
{
    static constexpr unsigned width = 8, count = lane_count / width;
    typedef T Vector __attribute__((vector_size(width * sizeof(T))));
    Vector part[count];
};

template <typename Vector, typename T>
inline Vector fused(T factor, Vector vector, Vector sum)
{
    if constexpr(std::is_integral_v<T>)
    { // unsigned: sums wrap around
        typedef std::make_unsigned_t<T> Unsigned __attribute__((vector_size(sizeof(Vector))));
        return (Vector)((Unsigned)sum +
                        static_cast<std::make_unsigned_t<T>>(factor) * (Unsigned)vector);
    }
    else
    {
        Vector result;
        for(unsigned n = 0; n < sizeof(Vector) / sizeof(T); ++n)
            result[n] = std::fma(factor, vector[n], sum[n]);
        return result;
    }
}

// Denormals become zeros of their sign.
inline void flush(VectorRegister& values)
{
    for(uint32_t& value : values.lane)
        value = (value & 0x7f800000) == 0 ? value & 0x80000000 : value;
}

// C of one register of results.
inline void
accumulator(const Wave& wave, const Operand& c, unsigned number, bool flushed, VectorRegister& to)
{
    if(c.kind == Operand::Kind::vector)
        to = wave.vector[c.number + number];
    else
        fill(to, wave.read32(c));
    if(flushed) flush(to);
}

// The block of A that block `block` multiplies: CBSZ makes groups of 2^CBSZ blocks share the one
// that ABID numbers within its group.
inline unsigned block_of_a(const Instruction& i, unsigned blocks, unsigned block)
{
    const unsigned shared = (1U << i.cbsz) - 1;
    return blocks == 1 || i.cbsz == 0 ? block : ((block & ~shared) | (i.abid & shared)) % blocks;
}

// 16x16 and 32x32 results: register r of a block has rows of 16 or 32 lanes, which are 4 rows
// apart. row_of_b(group, e, lane) are the numbers of B, of the first block's columns, that element
// e of A's lane, which is in that group of lanes along K, is multiplied by.
template <typename S, typename T, typename RowOfB>
void multiply(Wave& wave,
              const Instruction& i,
              const Operand& c,
              const Plane<T>* a,
              RowOfB row_of_b,
              bool flushed)
{
    using Sums              = Vectors<T>;
    using Vector            = typename Sums::Vector;
    constexpr unsigned rows = lane_count / S::size, parts = S::size / Sums::width;
    // written last: compilers let D overlap a part of C, of which the device reads all before
    VectorRegister results[S::blocks * S::registers];
    for(unsigned block = 0; block < S::blocks; ++block)
    {
        const unsigned of_a = i.cbsz == 0 ? block : block_of_a(i, S::blocks, block);
        for(unsigned r = 0; r < S::registers; ++r)
        {
            VectorRegister& values = results[block * S::registers + r];
            accumulator(wave, c, block * S::registers + r, flushed, values);
            Sums sums;
            std::memcpy(&sums, &values, sizeof(sums));
            for(unsigned group = 0; group < S::groups; ++group)
                for(unsigned e = 0; e < S::per_lane; ++e)
                {
                    const unsigned first = group * S::blocks * S::size;
                    const unsigned lane  = first + of_a * S::size + r / 4 * 8 + r % 4;
#pragma GCC unroll 4
                    for(unsigned row = 0; row < rows; ++row)
                    {
                        const T factor = a[e][lane + 4 * row];
                        const T* b     = row_of_b(group, e, lane + 4 * row) + block * S::size;
#pragma GCC unroll 4
                        for(unsigned part = 0; part < parts; ++part)
                        {
                            Vector vector;
                            std::memcpy(&vector, b + part * Sums::width, sizeof(vector));
                            Vector& sum = sums.part[row * parts + part];
                            sum         = fused(factor, vector, sum);
                        }
                    }
                }
            std::memcpy(&values, &sums, sizeof(sums));
            if(flushed) flush(values);
        }
    }
    for(unsigned r = 0; r < S::blocks * S::registers; ++r)
        wave.result(i.destination, r) = results[r];
}

// 4x4 results of 16 blocks: register r has row r of all blocks.
template <typename S, typename T>
void multiply_small(Wave& wave,
                    const Instruction& i,
                    const Operand& c,
                    const Plane<T>* a,
                    const Plane<T>* b,
                    bool flushed)
{
    unsigned first_row[lane_count]; // of the block of A that a lane's block multiplies
    for(unsigned lane = 0; lane < lane_count; ++lane)
        first_row[lane] = block_of_a(i, S::blocks, lane / S::size) * S::size;
    VectorRegister results[S::size];
    for(unsigned r = 0; r < S::size; ++r)
    {
        accumulator(wave, c, r, flushed, results[r]);
        alignas(64) T sums[lane_count];
        std::memcpy(sums, &results[r], sizeof(sums));
        for(unsigned e = 0; e < S::per_lane; ++e)
            for(unsigned lane = 0; lane < lane_count; ++lane)
            {
                const T factor = a[e][first_row[lane] + r];
                if constexpr(std::is_integral_v<T>)
                    sums[lane] += factor * b[e][lane];
                else
                    sums[lane] = std::fma(factor, b[e][lane], sums[lane]);
            }
        std::memcpy(&results[r], sums, sizeof(sums));
        if(flushed) flush(results[r]);
    }
    for(unsigned r = 0; r < S::size; ++r) wave.result(i.destination, r) = results[r];
}

} // namespace ckprof::emulator::matrix
