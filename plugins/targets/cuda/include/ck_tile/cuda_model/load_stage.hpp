// SPDX-License-Identifier: MIT
// Fills one stage of shared memory with a block of K of both operands.
#pragma once

#include "ck_tile/cuda_model/decode.hpp"
#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/cuda_model/operands.hpp"
#include "ck_tile/cuda_model/ptx.hpp"

namespace ck_tile::cuda_model {

// Calls line(i) and column(j) for the pieces of Vector elements that the thread copies, and
// exists() for both.
template <typename Config,
          int Vector,
          int Lines,
          int Elements,
          int LineBytes,
          typename Element,
          typename Line,
          typename Column,
          typename Exists>
__device__ __forceinline__ void load_operand(std::uint32_t destination,
                                             const Element* start,
                                             const Line& line_of,
                                             const Column& column_of,
                                             const Exists& exists)
{
    constexpr int pieces  = Elements / Vector; // of a line
    constexpr int all     = pieces * Lines;
    constexpr int threads = Config::threads;
    constexpr int bytes   = Vector * Config::ab_bytes;

    const auto copy = [&](int line, int piece, const address_part& a, const address_part& b) {
        // Where nothing exists the address is not used.
        const bool found       = exists(a, b);
        const Element* source  = start + (a.offset + b.offset);
        const std::uint32_t to = destination + line * LineBytes + piece * bytes;
        if constexpr(Config::memory_type == Config::ab_type)
        {
            copy_async<bytes>(to, source, found);
        }
        else
        {
            copy_decoded<Config::memory_type, Vector>(to, found ? source : nullptr);
        }
    };

    const int thread = threadIdx.x;
    if constexpr(threads % pieces == 0)
    {
        // The thread keeps its place in the line.
        constexpr int step        = threads / pieces;
        const int piece           = thread % pieces;
        const address_part column = column_of(piece * Vector);
        // Lines are looked up before the first copy: none waits for the one before.
        constexpr int count   = divide_up(Lines, step);
        constexpr int at_once = count < 8 ? count : 8;
#pragma unroll
        for(int from = 0; from < count; from += at_once)
        {
            address_part lines[at_once];
#pragma unroll
            for(int i = 0; i < at_once; ++i)
            {
                const int line = thread / pieces + (from + i) * step;
                if((count % at_once == 0 || from + i < count) &&
                   (Lines % step == 0 || line < Lines))
                {
                    lines[i] = line_of(line);
                }
            }
#pragma unroll
            for(int i = 0; i < at_once; ++i)
            {
                const int line = thread / pieces + (from + i) * step;
                if((count % at_once == 0 || from + i < count) &&
                   (Lines % step == 0 || line < Lines))
                {
                    copy(line, piece, lines[i], column);
                }
            }
        }
    }
    else if constexpr(pieces % threads == 0)
    {
        // The thread keeps to few places of every line.
#pragma unroll
        for(int j = 0; j < pieces / threads; ++j)
        {
            const int piece           = thread + j * threads;
            const address_part column = column_of(piece * Vector);
#pragma unroll 4
            for(int line = 0; line < Lines; ++line) { copy(line, piece, line_of(line), column); }
        }
    }
    else
    {
#pragma unroll 4
        for(int i = 0; i < divide_up(all, threads); ++i)
        {
            const int index = thread + i * threads;
            if(all % threads != 0 && index >= all) { break; }
            const int line = index / pieces, piece = index % pieces;
            copy(line, piece, line_of(line), column_of(piece * Vector));
        }
    }
}

// The K elements from k0 on; those at k_end and beyond are zero.
template <typename Config>
__device__ __forceinline__ void
load_stage(const operands<Config>& source, std::uint32_t stage, int k0)
{
    using element = stored_t<Config::memory_type>;
    using ops     = operands<Config>;

    constexpr int a_lines    = Config::a_k_major ? Config::m : Config::k;
    constexpr int a_elements = Config::a_k_major ? Config::k : Config::m;
    constexpr int b_lines    = Config::b_k_major ? Config::n : Config::k;
    constexpr int b_elements = Config::b_k_major ? Config::k : Config::n;

    const auto& p     = source.p;
    const auto load_a = [&](const auto& column, const auto& exists) {
        load_operand<Config, Config::vector_a, a_lines, a_elements, Config::a_line_bytes>(
            stage,
            static_cast<const element*>(p.a) + source.a_start(),
            [&](int line) { return source.a_line(line, k0); },
            column,
            exists);
    };
    const auto plain_column = [&](int piece) { return source.a_column(piece, k0); };
    const auto inside       = [&](const address_part& line, const address_part& column) {
        return resolve<Config, ops::a_windowed>(p, line, column);
    };
    if constexpr(ops::a_windowed)
    {
        if(source.masked())
        {
            load_a([&](int piece) { return source.numbered_tap(k0 + piece); }, has_tap);
        }
        else
        {
            load_a(plain_column, inside);
        }
    }
    else
    {
        load_a(plain_column, inside);
    }
    load_operand<Config, Config::vector_b, b_lines, b_elements, Config::b_line_bytes>(
        stage + Config::a_bytes,
        static_cast<const element*>(p.b) + source.b_start(),
        [&](int line) { return source.b_line(line, k0); },
        [&](int piece) { return source.b_column(piece, k0); },
        [&](const address_part& line, const address_part& column) {
            return resolve<Config, ops::b_windowed>(p, line, column);
        });
}

} // namespace ck_tile::cuda_model
