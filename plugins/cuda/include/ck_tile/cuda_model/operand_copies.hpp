// SPDX-License-Identifier: MIT
// One thread's copies of one operand, from memory to the stages of shared memory.
//
// Each copy is one vector. What stays the same over a tile is found once, so that a copy in the
// loop over K takes an addition, a test and the copy itself where lines are at equal distances or
// rows are windows.
#pragma once

#include <utility>

#include "ck_tile/cuda_model/decode.hpp"
#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/cuda_model/operands.hpp"
#include "ck_tile/cuda_model/ptx.hpp"

namespace ck_tile::cuda_model {

// The two operands of a product; rows of A and columns of B are their sides.
template <typename Config>
struct operand_a
{
    using source = operands<Config>;
    using layout = typename Config::a_layout;

    static constexpr data_type memory = Config::a_memory;

    static constexpr bool k_major   = Config::a_k_major;
    static constexpr int vector     = Config::vector_a;
    static constexpr int first_byte = 0; // in a stage
    static constexpr line_kind kind = source::a_kind;

    __device__ __forceinline__ static const void* start(const source& s)
    { return static_cast<const stored_t<memory>*>(s.p.a) + s.a_start(); }
    __device__ __forceinline__ static int first(const source& s) { return s.at.first_row; }
    __device__ __forceinline__ static int limit(const source& s) { return s.p.m; }
    __device__ __forceinline__ static std::int64_t distance(const source& s)
    { return s.a_distance(); }
    __device__ __forceinline__ static auto side(const source& s, int i) { return s.a_row(i); }
    __device__ __forceinline__ static auto depth(const source& s, int k) { return s.a_k(k); }
};

template <typename Config>
struct operand_b
{
    using source = operands<Config>;
    using layout = typename Config::b_layout;

    static constexpr data_type memory = Config::b_memory;

    static constexpr bool k_major   = Config::b_k_major;
    static constexpr int vector     = Config::vector_b;
    static constexpr int first_byte = Config::a_bytes;
    static constexpr line_kind kind = source::b_kind;

    __device__ __forceinline__ static const void* start(const source& s)
    { return static_cast<const stored_t<memory>*>(s.p.b) + s.b_start(); }
    __device__ __forceinline__ static int first(const source& s) { return s.at.first_column; }
    __device__ __forceinline__ static int limit(const source& s) { return s.p.n; }
    __device__ __forceinline__ static std::int64_t distance(const source& s)
    { return s.b_distance(); }
    __device__ __forceinline__ static auto side(const source& s, int j) { return s.b_column(j); }
    __device__ __forceinline__ static auto depth(const source& s, int k) { return s.b_k(k); }
};

// Which vectors of an operand's block a thread copies: number i is `piece` of `line`.
template <typename Config, typename Operand>
struct copy_plan
{
    using layout = typename Operand::layout;

    static constexpr int threads      = Config::threads;
    static constexpr int vector_bytes = Operand::vector * Config::ab_bytes;
    static constexpr int pieces       = layout::elements / Operand::vector; // of a line
    static constexpr int all          = pieces * layout::lines;
    static constexpr int count        = divide_up(all, threads);
    // The thread keeps its place in lines that are `step` apart.
    static constexpr bool regular = threads % pieces == 0;
    static constexpr int step     = regular ? threads / pieces : 1;

    static constexpr int line(int thread, int i)
    { return regular ? thread / pieces + i * step : (thread + i * threads) / pieces; }
    static constexpr int piece(int thread, int i)
    { return regular ? thread % pieces : (thread + i * threads) % pieces; }
    static constexpr bool exists(int thread, int i)
    { return all % threads == 0 || i + 1 < count || thread + i * threads < all; }
    // Where that vector is put.
    static constexpr int place(int thread, int i)
    {
        constexpr bool periodic = regular && step % layout::period == 0;
        return periodic ? layout::at(thread / pieces, thread % pieces * vector_bytes) +
                              i * step * layout::line_bytes
                        : layout::at(line(thread, i), piece(thread, i) * vector_bytes);
    }
};

template <typename Config, typename Operand>
class operand_copies
{
public:
    using plan                 = copy_plan<Config, Operand>;
    static constexpr int count = plan::count;

    // K: the first element of the first stage.
    __device__ __forceinline__ operand_copies(const operands<Config>& from, int k)
        : source(from),
          thread(static_cast<int>(threadIdx.x)),
          start(static_cast<const element*>(Operand::start(from))),
          next_k(k)
    {
        if constexpr(linear)
        {
            const std::int64_t distance = Operand::distance(source);
            const int line = plan::line(thread, 0), in_line = plan::piece(thread, 0) * vector;
            const int first = Operand::first(source);
            line_step       = distance * plan::step;
            if constexpr(k_major)
            {
                side_lines = Operand::limit(source) - first - line;
                next_line  = start + ((first + line) * distance + k + in_line);
                stage_step = depth;
            }
            else
            {
                side_lines = first + in_line < Operand::limit(source) ? 1 : 0;
                next_line  = start + ((k + line) * distance + first + in_line);
                stage_step = distance * depth;
            }
        }
        else if constexpr(rows_in_registers)
        {
#pragma unroll
            for(int i = 0; i < count; ++i)
            {
                if(plan::exists(thread, i)) { rows[i] = source.rows[plan::line(thread, i)]; }
            }
        }
        else if constexpr(plan::regular && !k_major)
        {
            kept = Operand::side(source, plan::piece(thread, 0) * vector);
        }
    }

    // Goes to the next stage of K.
    __device__ __forceinline__ void advance()
    {
        const int k = next_k;
        next_k += depth;
        if constexpr(linear)
        {
            line_at = next_line;
            next_line += stage_step;
            if constexpr(k_major)
            {
                const int in_line = plan::piece(thread, 0) * vector;
                lines_left        = k + in_line < source.at.k_end ? side_lines : 0;
            }
            else
            {
                lines_left = side_lines != 0 ? source.at.k_end - k - plan::line(thread, 0) : 0;
            }
        }
        else if constexpr(plan::regular && k_major)
        {
            kept = Operand::depth(source, k + plan::piece(thread, 0) * vector);
            if constexpr(rows_in_registers)
            {
                line_at = start + kept.offset;
                take_as_one(line_at);
            }
        }
    }

    // Copy number i, the one after i - 1, to its place in a stage.
    __device__ __forceinline__ void copy(int i, std::uint32_t stage)
    {
        if constexpr(plan::all % plan::threads != 0)
        {
            if(!plan::exists(thread, i)) { return; }
        }
        const std::uint32_t to = stage + Operand::first_byte + plan::place(thread, i);
        if constexpr(linear)
        {
            put(to, line_at, i * plan::step < lines_left);
            line_at += line_step;
        }
        else if constexpr(rows_in_registers)
        {
            put(to,
                line_at + std::int64_t{rows[i].vectors} * vector,
                (rows[i].bits & kept.bits) != 0);
        }
        else
        {
            const int line = plan::line(thread, i), in_line = plan::piece(thread, i) * vector;
            const int k = next_k - depth;
            if constexpr(plan::regular && k_major) { put(to, Operand::side(source, line), kept); }
            else if constexpr(plan::regular) { put(to, kept, Operand::depth(source, k + line)); }
            else if constexpr(k_major)
            {
                put(to, Operand::side(source, line), Operand::depth(source, k + in_line));
            }
            else
            {
                put(to, Operand::side(source, in_line), Operand::depth(source, k + line));
            }
        }
    }

private:
    using element                 = stored_t<Operand::memory>;
    static constexpr bool k_major = Operand::k_major;
    static constexpr int vector = Operand::vector, depth = Config::k;
    static constexpr bool linear = Operand::kind == line_kind::linear && plan::regular;
    // Of few rows each thread keeps what it needs.
    static constexpr bool rows_in_registers = Operand::kind == line_kind::windows &&
                                              plan::regular && count <= 8 &&
                                              Config::free_registers >= 96;

    template <typename Part>
    __device__ __forceinline__ void
    put(std::uint32_t to, const Part& side, const Part& along_k) const
    { put(to, start + (side.offset + along_k.offset), source.exists(side, along_k)); }

    // Where nothing exists the address is not used.
    __device__ __forceinline__ static void put(std::uint32_t to, const element* from, bool exists)
    {
        if constexpr(Operand::memory == Config::ab_type)
        {
            copy_async<vector * Config::ab_bytes>(to, from, exists);
        }
        else
        {
            copy_decoded<Operand::memory, Config::ab_type, vector>(to, exists ? from : nullptr);
        }
    }

    const operands<Config>& source;
    const int thread;
    const element* const start; // of the block's groups and images
    int next_k;

    // Linear: lines that exist from the thread's first one on; the line of the next copy.
    const element *next_line, *line_at;
    std::int64_t line_step, stage_step;
    int side_lines, lines_left;

    window_row rows[rows_in_registers ? count : 1];

    // What the thread's copies of a stage, or those of a tile, have in common.
    decltype(Operand::depth(std::declval<const operands<Config>&>(), 0)) kept;
};

} // namespace ck_tile::cuda_model
