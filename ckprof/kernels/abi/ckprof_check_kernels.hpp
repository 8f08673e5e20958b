// SPDX-License-Identifier: MIT
//
// What verifies results on a device, block by block. The same source is device code and plain C++:
// there, the threads of a block take turns, phase by phase.
#ifndef CKPROF_CHECK_KERNELS_HPP
#define CKPROF_CHECK_KERNELS_HPP

#include "ckprof_check_elements.hpp"

#if CKPROF_CHECKS_ON_DEVICE
#define CKPROF_SHARED __shared__
#else
#define CKPROF_SHARED
#endif

namespace ckprof::checks {

constexpr int threads = 256;
// Blocks of a pass over a tensor at most: each leaves one value, and they are combined in order.
constexpr int64_t most_blocks = 1024;
// Blocks that share a piece of memory at most: what a device with 132 multiprocessors runs at once.
constexpr int64_t most_blocks_of_piece = 4 * 132;

// A phase: each thread does its part, and nobody goes on before all are done.
template <typename Part>
CKPROF_DEVICE inline void each_thread(const Part& part)
{
#if CKPROF_CHECKS_ON_DEVICE
    part(static_cast<int>(threadIdx.x));
    __syncthreads();
#else
    for(int thread = 0; thread < threads; ++thread) part(thread);
#endif
}

// What a thread keeps from phase to phase.
template <typename Value>
struct of_threads
{
#if CKPROF_CHECKS_ON_DEVICE
    Value value;
    CKPROF_DEVICE Value& operator[](int) { return value; }
#else
    Value values[threads];
    Value& operator[](int thread) { return values[thread]; }
#endif
};

// Combines what the threads of a block have found: in a fixed order, so that sums are repeatable.
template <typename Value>
CKPROF_DEVICE inline void combine(of_threads<Value>& found, Value* of_block)
{
    CKPROF_SHARED Value all[threads];
    each_thread([&](int thread) { all[thread] = found[thread]; });
    for(int width = threads / 2; width > 0; width /= 2)
        each_thread([&](int thread) {
            if(thread < width) all[thread].add(all[thread + width]);
        });
    each_thread([&](int thread) {
        if(thread == 0) *of_block = all[0];
    });
}

// --- passes over memory -----------------------------------------------------------------------

struct total
{
    uint64_t value;
    CKPROF_EVERYWHERE void add(const total& other) { value += other.value; }
};

struct double_total
{
    double value;
    CKPROF_EVERYWHERE void add(const double_total& other) { value += other.value; }
};

struct largest
{
    double value;
    uint64_t gaps;
    CKPROF_EVERYWHERE void add(const largest& other)
    {
        if(other.value > value) value = other.value;
        gaps += other.gaps;
    }
};

// A pass: visit(index, found) for each of count elements; found starts with zeros but for what
// start sets.
template <typename Value, typename Pass>
struct pass_block
{
    using value_type = Value;
    Pass pass;
    int64_t count;
    int64_t blocks;
    Value* of_blocks;

    CKPROF_DEVICE void operator()(int64_t block) const
    {
        of_threads<Value> found;
        each_thread([&](int thread) {
            Value& mine = found[thread];
            mine        = Value{};
            pass.start(mine);
            for(int64_t at = block * threads + thread; at < count; at += blocks * threads)
                pass.visit(at, mine);
        });
        combine(found, &of_blocks[block]);
    }
};

// Combines what the blocks of a pass have left, in their order, into the first of them.
template <typename Value, typename Pass>
struct combine_block
{
    using value_type = Value;
    Pass pass;
    int64_t blocks;
    Value* of_blocks;

    CKPROF_DEVICE void operator()(int64_t) const
    {
        of_threads<Value> found;
        each_thread([&](int thread) {
            Value& mine = found[thread];
            mine        = Value{};
            pass.start(mine);
            for(int64_t at = thread; at < blocks; at += threads) mine.add(of_blocks[at]);
        });
        combine(found, of_blocks);
    }
};

// Numbers that need less than 33 bits are divided several times as fast.
CKPROF_DEVICE inline int64_t quotient(int64_t number, int64_t divisor)
{
    if(((number | divisor) >> 32) != 0) return number / divisor;
    return static_cast<uint32_t>(number) / static_cast<uint32_t>(divisor);
}

struct operand_pass
{
    ckprof_operand operand;
    void* memory;

    CKPROF_EVERYWHERE void start(double_total&) const {}
    CKPROF_DEVICE void visit(int64_t at, double_total& found) const
    {
        const int last       = operand.axes - 1;
        int64_t left         = quotient(at, operand.line);
        const int64_t column = at - left * operand.line;
        if(column >= operand.lengths[last]) return;
        int64_t number = column * operand.numbers[last];
        for(int axis = last - 1; axis >= 0; --axis)
        {
            const int64_t outer = quotient(left, operand.lengths[axis]);
            number += (left - outer * operand.lengths[axis]) * operand.numbers[axis];
            left = outer;
        }
        const uint32_t word = encoded(operand.element, drawn(static_cast<uint64_t>(number)));
        store(operand.element, memory, at, word);
        const double value = decoded(operand.element, word);
        found.value += value * value;
    }

    CKPROF_DEVICE float drawn(uint64_t number) const
    {
        const uint64_t random = numbered(operand.key, number);
        const auto fraction   = static_cast<uint32_t>(random >> 40);
        switch(operand.values)
        {
        case CKPROF_INTEGERS: return integer(random, number);
        case CKPROF_DECIMALS: return static_cast<float>(fraction) * 0x1p-24f + operand.lowest;
        case CKPROF_SIGNS:
            return fraction < operand.low ? 1.f : fraction >= operand.high ? -1.f : 0.f;
        default: return 0.f;
        }
    }

    CKPROF_DEVICE float integer(uint64_t random, uint64_t number) const
    {
        const ckprof_integers& how = operand.integers;
        const auto count           = static_cast<uint64_t>(how.count);
        const auto drawn = static_cast<int32_t>((random >> 32) * count >> 32) + how.lowest;
        if(drawn == 0 || (random & 0xffffffffu) >= how.kept) return 0.f;
        int64_t index = quotient(static_cast<int64_t>(number), how.step);
        index -= quotient(index, how.length) * how.length;
        index -= quotient(index, how.period) * how.period;
        const int power   = how.exponent + how.direction * static_cast<int32_t>(index);
        const float scale = bits_as<float>(static_cast<uint32_t>(power + 127) << 23);
        float value       = static_cast<float>(drawn) * scale;
        if(value > how.largest) value = how.largest;
        if(value < -how.largest) value = -how.largest;
        return how.less ? bits_as<float>(bits_as<uint32_t>(value) - 1) : value;
    }
};

struct magnitude_pass
{
    const double* reference;

    CKPROF_EVERYWHERE void start(largest&) const {}
    CKPROF_DEVICE void visit(int64_t at, largest& found) const
    {
        const double value = reference[at];
        const double size  = value < 0 ? -value : value;
        found.gaps += value != value;
        if(size > found.value) found.value = size;
    }
};

struct slices_pass
{
    const double* partial;
    double* reference;
    int64_t slices;
    int64_t stored;

    CKPROF_EVERYWHERE void start(total&) const {}
    CKPROF_DEVICE void visit(int64_t at, total&) const
    {
        double sum = partial[at];
        for(int64_t slice = 1; slice < slices; ++slice) sum += partial[slice * stored + at];
        reference[at] = sum;
    }
};

struct findings
{
    uint64_t wrong, unwritten, non_finite, in_gaps, gaps, first;
    double max_error;

    CKPROF_EVERYWHERE void add(const findings& other)
    {
        wrong += other.wrong;
        unwritten += other.unwritten;
        non_finite += other.non_finite;
        in_gaps += other.in_gaps;
        gaps += other.gaps;
        if(other.first < first) first = other.first;
        if(other.max_error > max_error) max_error = other.max_error;
    }
};

struct compare_pass
{
    ckprof_comparison comparison;
    const void* result;
    const double* reference;

    CKPROF_EVERYWHERE void start(findings& found) const { found.first = ~uint64_t{0}; }
    CKPROF_DEVICE void visit(int64_t at, findings& found) const
    {
        const int32_t element   = comparison.element;
        const uint32_t all_ones = 0xffffffffu >> (32 - 8 * bytes_of(element));
        const uint32_t poison   = static_cast<uint32_t>(comparison.poison) * 0x01010101u & all_ones;
        const uint32_t word     = word_of(element, result, at);
        const double expected   = this->expected(at);
        const bool gap          = expected != expected;
        const bool poisoned     = word == poison;
        const double value      = decoded(element, word);
        const bool finite       = value - value == 0;
        const double difference = value - expected;
        const double error      = difference < 0 ? -difference : difference;
        const double size       = expected < 0 ? -expected : expected;
        const double bound      = comparison.atol + comparison.rtol * size;
        const double overflow   = overflow_of(element);
        // of an infinite reference, the bound may be none
        const bool too_large  = size >= overflow || size + bound >= overflow;
        const bool infinite   = !finite && value == value;
        const bool overflowed = infinite && too_large && (value < 0) == (expected < 0);
        const bool close      = finite && error <= bound;
        const bool wrong      = gap ? !poisoned : !overflowed && !close;
        found.gaps += gap;
        found.non_finite += !finite && !poisoned && !gap && !overflowed;
        if(finite && error - error == 0 && error > found.max_error) found.max_error = error;
        if(!wrong) return;
        found.wrong += 1;
        found.unwritten += poisoned;
        found.in_gaps += gap;
        if(static_cast<uint64_t>(at) < found.first) found.first = static_cast<uint64_t>(at);
    }

    CKPROF_DEVICE double expected(int64_t at) const
    {
        if(comparison.rounding == CKPROF_NOT_ROUNDED) return reference[at];
        return rounded(comparison.element, reference[at], comparison.rounding == CKPROF_TO_NEAREST);
    }
};

// --- pieces of memory ----------------------------------------------------------------------

// What a thread works on at a time.
struct line
{
    static constexpr int bytes = 16;
    uint32_t words[4];
};

// Whether a device may read or write all bytes of a line at once.
CKPROF_DEVICE inline bool is_whole(const uint8_t* memory, int64_t bytes)
{ return bytes >= line::bytes && reinterpret_cast<uintptr_t>(memory) % line::bytes == 0; }

// Of the next bytes; those after the last one have a value.
CKPROF_DEVICE inline line read_line(const uint8_t* memory, int64_t bytes, uint32_t rest)
{
    line read;
    if(is_whole(memory, bytes))
    {
#if CKPROF_CHECKS_ON_DEVICE
        const uint4 all = *reinterpret_cast<const uint4*>(memory);
        read            = {{all.x, all.y, all.z, all.w}};
#else
        memcpy(&read, memory, line::bytes);
#endif
        return read;
    }
    for(int word = 0; word < 4; ++word)
    {
        read.words[word] = rest;
        for(int byte = 0; byte < 4 && word * 4 + byte < bytes; ++byte)
        {
            const uint32_t value = memory[word * 4 + byte];
            read.words[word]     = (read.words[word] & ~(0xffu << 8 * byte)) | value << 8 * byte;
        }
    }
    return read;
}

CKPROF_DEVICE inline void write_line(uint8_t* memory, int64_t bytes, const line& written)
{
    if(is_whole(memory, bytes))
    {
#if CKPROF_CHECKS_ON_DEVICE
        *reinterpret_cast<uint4*>(memory) =
            uint4{written.words[0], written.words[1], written.words[2], written.words[3]};
#else
        memcpy(memory, &written, line::bytes);
#endif
        return;
    }
    for(int byte = 0; byte < bytes && byte < line::bytes; ++byte)
        memory[byte] = static_cast<uint8_t>(written.words[byte / 4] >> (8 * (byte % 4)));
}

// The highest bit of each lane of a word that has any other bit.
CKPROF_DEVICE inline uint32_t signs_of_lanes(uint32_t word, int bytes)
{
    const uint32_t lower = bytes == 4 ? 0x7fffffffu : bytes == 2 ? 0x7fff7fffu : 0x7f7f7f7fu;
    return ((word & lower) + lower) & ~lower;
}

// Blocks of threads share pieces: each piece has some in a row.
struct pieces_block
{
    // Lengths of axes of which a block lists what is negated.
    static constexpr int listed = 4096;

    ckprof_piece pieces[CKPROF_MAX_PIECES];
    int64_t first_blocks[CKPROF_MAX_PIECES + 1];
    int32_t count;
    // of each piece, and those of the next call, which are cleared; null: the pieces are negated
    uint64_t* totals;
    uint64_t* next_totals;

    CKPROF_DEVICE static bool negated(const ckprof_signs& signs, int64_t index)
    {
        bool odd = false;
        for(int set = 0; set < 2; ++set)
            odd ^=
                (numbered(signs.key[set], static_cast<uint64_t>(index)) >> 32) < signs.share[set];
        return odd;
    }

    CKPROF_DEVICE void operator()(int64_t block) const
    {
        CKPROF_SHARED uint8_t lists[CKPROF_MAX_SIGNS][listed];
        int at = 0;
        while(block >= first_blocks[at + 1]) ++at;
        const ckprof_piece& piece = pieces[at];
        const int64_t blocks      = first_blocks[at + 1] - first_blocks[at];
        const int64_t first       = (block - first_blocks[at]) * threads;
        const int64_t lines       = (piece.bytes + line::bytes - 1) / line::bytes;
        of_threads<total> found;
        each_thread([&](int thread) {
            found[thread] = total{};
            for(int axis = 0; axis < piece.axes; ++axis)
                for(int64_t index = thread; index < piece.signs[axis].length && index < listed;
                    index += threads)
                    lists[axis][index] = negated(piece.signs[axis], index) ? 0xff : 0;
        });
        each_thread([&](int thread) {
            int64_t number = first + thread;
            line next      = read(piece, number);
            while(number < lines)
            {
                // on its way while the one before is worked on
                const line values = next;
                next              = read(piece, number + blocks * threads);
                visit(piece, number, values, lists, found[thread]);
                number += blocks * threads;
            }
        });
        if(totals == nullptr) return;
        CKPROF_SHARED total of_block;
        combine(found, &of_block);
        each_thread([&](int thread) {
            if(thread == 0) add(&totals[at], of_block.value);
            if(block == 0 && thread < CKPROF_MAX_PIECES) next_totals[thread] = 0;
        });
    }

    CKPROF_DEVICE static void add(uint64_t* sum, uint64_t value)
    {
#if CKPROF_CHECKS_ON_DEVICE
        atomicAdd(reinterpret_cast<unsigned long long*>(sum),
                  static_cast<unsigned long long>(value));
#else
        *sum += value;
#endif
    }

    // What a line behind the end has is not used.
    CKPROF_DEVICE static line read(const ckprof_piece& piece, int64_t number)
    {
        const auto* memory = static_cast<const uint8_t*>(piece.memory) + number * line::bytes;
        const uint32_t rest =
            piece.others < 0 ? 0 : static_cast<uint32_t>(piece.others) * 0x01010101u;
        return read_line(memory, piece.bytes - number * line::bytes, rest);
    }

    CKPROF_DEVICE void visit(const ckprof_piece& piece,
                             int64_t number,
                             line values,
                             const uint8_t (&lists)[CKPROF_MAX_SIGNS][listed],
                             total& found) const
    {
        for(int axis = 0; axis < piece.axes; ++axis)
            negate(piece, axis, number, lists[axis], values);
        const int64_t start = number * line::bytes;
        if(totals == nullptr)
            return write_line(
                static_cast<uint8_t*>(piece.memory) + start, piece.bytes - start, values);
        if(piece.others >= 0)
        {
            const uint32_t rest = static_cast<uint32_t>(piece.others) * 0x01010101u;
            for(const uint32_t word : values.words)
            {
                const uint32_t bits = word ^ rest;
                const uint32_t ones = (signs_of_lanes(bits, 1) | (bits & 0x80808080u)) >> 7;
                found.value += ones * 0x01010101u >> 24;
            }
            return;
        }
        for(int half = 0; half < 2; ++half)
        {
            const uint64_t low = values.words[2 * half], high = values.words[2 * half + 1];
            found.value +=
                mixed((low | high << 32) ^ numbered(0, static_cast<uint64_t>(2 * number + half)));
        }
    }

    CKPROF_DEVICE static void
    negate(const ckprof_piece& piece, int axis, int64_t number, const uint8_t* list, line& values)
    {
        const ckprof_signs& signs = piece.signs[axis];
        const int size            = bytes_of(piece.element);
        const int lanes           = line::bytes / size;
        const int64_t outer       = quotient(number * lanes, signs.step);
        const int64_t inner       = number * lanes - outer * signs.step;
        int64_t index             = outer - quotient(outer, signs.length) * signs.length;
        if(inner + lanes <= signs.step)
        {
            if(index < listed ? list[index] != 0 : negated(signs, index))
                for(uint32_t& word : values.words) word ^= signs_of_lanes(word, size);
            return;
        }
        // each lane by itself
        const uint32_t whole = 0xffffffffu >> (32 - 8 * size);
        int64_t left         = signs.step - inner;
        for(uint32_t& word : values.words)
        {
            uint32_t chosen = 0;
            for(int bit = 0; bit < 32; bit += 8 * size)
            {
                const bool is_chosen = index < listed ? list[index] != 0 : negated(signs, index);
                chosen |= is_chosen ? whole << bit : 0;
                if(--left > 0) continue;
                left = signs.step;
                if(++index == signs.length) index = 0;
            }
            word ^= signs_of_lanes(word, size) & chosen;
        }
    }
};

// --- sums of products -------------------------------------------------------------------------

// Where an element lies as far as some loops say, offset -1: outside of them.
struct place
{
    int64_t offset;
    int32_t checked[CKPROF_MAX_CHECKED];
};

// A tile of the result, and one slice of its sums. Each thread adds up four by four elements, each
// of them in the order of the summed loops. Products are exact in double precision where operands
// have at most 26 bits, so that fused and separate additions agree.
template <int Rows, int Columns>
struct contract_block
{
    static constexpr int depth       = 16;
    static constexpr int side        = 4;
    static constexpr int row_step    = Rows / side;
    static constexpr int column_step = Columns / side;
    static_assert(row_step * column_step == threads);

    ckprof_contraction work;
    const void* operands[2];
    double* partial;
    int64_t rows, columns, sums; // numbers of elements
    int64_t row_tiles, column_tiles, batches;

    struct tables
    {
        place rows[Rows];
        place columns[Columns];
        place sums[2][depth];
        int64_t row_results[Rows];
        int64_t column_results[Columns];
        double first[depth][Rows + 1];
        double second[depth][Columns + 1];
    };

    // Adds what loops say of an element that has this number in them.
    CKPROF_DEVICE void
    locate(int from, int count, int64_t number, int operand, place& found, int64_t* result) const
    {
        for(int at = from + count - 1; at >= from; --at)
        {
            const ckprof_loop& loop = work.loop[at];
            // short divisions where they do
            const bool is_short = ((number | loop.length) >> 32) == 0;
            const int64_t outer = is_short
                                      ? static_cast<int64_t>(static_cast<uint32_t>(number) /
                                                             static_cast<uint32_t>(loop.length))
                                      : number / loop.length;
            const int64_t index = number - outer * loop.length;
            number              = outer;
            found.offset += index * loop.offset[operand];
            for(int check = 0; check < CKPROF_MAX_CHECKED; ++check)
                found.checked[check] += static_cast<int32_t>(index) * loop.checked[operand][check];
            if(result != nullptr) *result += index * loop.result;
        }
    }

    // The place of a row or column, with what its batch adds.
    CKPROF_DEVICE place
    outer(int operand, int64_t batch, int64_t number, int64_t limit, int64_t& result) const
    {
        place found{};
        result = 0;
        if(number >= limit)
        {
            found.offset = -1;
            return found;
        }
        for(int check = 0; check < CKPROF_MAX_CHECKED; ++check)
            found.checked[check] =
                check < work.checks[operand] ? work.check[operand][check].start : 0;
        const bool first = operand == 0;
        locate(0, work.batches, batch, operand, found, first ? &result : nullptr);
        locate(work.batches + (first ? 0 : work.rows),
               first ? work.rows : work.columns,
               number,
               operand,
               found,
               &result);
        return found;
    }

    CKPROF_DEVICE double element(int operand, const place& outer_place, const place& summed) const
    {
        if(outer_place.offset < 0 || summed.offset < 0) return 0;
        int64_t offset = outer_place.offset + summed.offset;
        for(int check = 0; check < work.checks[operand]; ++check)
        {
            const ckprof_checked_index& index = work.check[operand][check];
            int32_t value                     = outer_place.checked[check] + summed.checked[check];
            if(value < 0) return 0;
            if(index.divisor != 1)
            {
                const int32_t quotient = value / index.divisor;
                if(quotient * index.divisor != value) return 0;
                value = quotient;
            }
            if(value >= index.length) return 0;
            offset += value * index.stride;
        }
        const int32_t type = work.elements[operand];
        return decoded(type, word_of(type, operands[operand], offset));
    }

    CKPROF_DEVICE void operator()(int64_t block) const
    {
        CKPROF_SHARED tables shared;
        of_threads<double[side][side]> totals;
        const int64_t column_tile = block % column_tiles;
        const int64_t above       = block / column_tiles;
        const int64_t row_tile    = above % row_tiles;
        const int64_t batch       = above / row_tiles % batches;
        const int64_t slice       = above / row_tiles / batches;
        const int64_t start       = slice * work.slice;
        const int64_t end         = start + work.slice < sums ? start + work.slice : sums;
        each_thread([&](int thread) {
            for(int row = 0; row < side; ++row)
                for(int column = 0; column < side; ++column) totals[thread][row][column] = 0;
            for(int row = thread; row < Rows; row += threads)
                shared.rows[row] =
                    outer(0, batch, row_tile * Rows + row, rows, shared.row_results[row]);
            for(int column = thread; column < Columns; column += threads)
                shared.columns[column] = outer(1,
                                               batch,
                                               column_tile * Columns + column,
                                               columns,
                                               shared.column_results[column]);
        });
        for(int64_t from = start; from < end; from += depth)
        {
            each_thread([&](int thread) {
                if(thread >= 2 * depth) return;
                const int operand    = thread / depth;
                const int64_t number = from + thread % depth;
                place found{};
                if(number < end)
                    locate(work.batches + work.rows + work.columns,
                           work.sums,
                           number,
                           operand,
                           found,
                           nullptr);
                else
                    found.offset = -1;
                shared.sums[operand][thread % depth] = found;
            });
            each_thread([&](int thread) {
                for(int at = thread; at < Rows * depth; at += threads)
                    shared.first[at % depth][at / depth] =
                        element(0, shared.rows[at / depth], shared.sums[0][at % depth]);
                for(int at = thread; at < Columns * depth; at += threads)
                    shared.second[at % depth][at / depth] =
                        element(1, shared.columns[at / depth], shared.sums[1][at % depth]);
            });
            each_thread([&](int thread) {
                const int row = thread / column_step, column = thread % column_step;
                for(int at = 0; at < depth; ++at)
                    for(int i = 0; i < side; ++i)
                        for(int j = 0; j < side; ++j)
                            totals[thread][i][j] += shared.first[at][row + i * row_step] *
                                                    shared.second[at][column + j * column_step];
            });
        }
        each_thread([&](int thread) {
            const int row = thread / column_step, column = thread % column_step;
            for(int i = 0; i < side; ++i)
                for(int j = 0; j < side; ++j)
                {
                    const int r = row + i * row_step, c = column + j * column_step;
                    if(shared.rows[r].offset >= 0 && shared.columns[c].offset >= 0)
                        partial[slice * work.stored + shared.row_results[r] +
                                shared.column_results[c]] = totals[thread][i][j];
                }
        });
    }
};

} // namespace ckprof::checks

#endif
