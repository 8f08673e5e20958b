// SPDX-License-Identifier: MIT
// Packing of operands that are plain matrices in memory, by their fastest axis, as words: floats,
// or pairs of bf16 elements.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ck_tile/host_model/impl/tile_gemm.hpp"

namespace ck_tile::host_model::impl {

template <typename Element>
inline constexpr int elements_per_word = std::is_same_v<Element, float> ? 1 : 2;

// W words of elements that are neighbours in memory and in k.
template <typename Element, typename T>
[[gnu::always_inline]] inline vfloat load_words(const T* source)
{
    if constexpr(std::is_same_v<Element, float>) { return load_floats<vector_width>(source); }
    else
    {
        return load_bytes<vfloat>(source);
    }
}

inline float pair_as_word(bf16_t first, bf16_t second)
{ return std::bit_cast<float>(std::uint32_t{first.bits} | std::uint32_t{second.bits} << 16); }

// One word, of `left` elements that remain.
template <typename Element, typename T>
[[gnu::always_inline]] inline float load_word(const T* source, std::int64_t left)
{
    if constexpr(std::is_same_v<Element, float>) { return element_as_float(source); }
    else
    {
        return pair_as_word(source[0], left > 1 ? source[1] : bf16_t{});
    }
}

// Words (k, column) for columns [0, valid) of lines that hold the columns of one k each: `first`
// is that of k, `second` of k + 1, which only pairs need. Those up to `count` become zeros; count
// is at most vector_width.
template <typename Element, typename T>
[[gnu::always_inline]] inline void
place_words(const T* first, const T* second, float* destination, std::int64_t valid)
{
    if constexpr(std::is_same_v<Element, float>)
    {
        if(valid == vector_width)
        {
            store_bytes(destination, load_floats<vector_width>(first));
            return;
        }
        widen_run(first, destination, valid);
    }
    else
    {
        if(valid == vector_width)
        {
            using halves    = simd<std::uint16_t, vector_width>;
            const auto low  = __builtin_convertvector(load_bytes<halves>(first), vwords);
            const auto high = __builtin_convertvector(load_bytes<halves>(second), vwords);
            store_bytes(destination, low | high << 16);
            return;
        }
        for(std::int64_t i = 0; i < valid; ++i)
        {
            destination[i] = pair_as_word(first[i], second[i]);
        }
    }
    zero_run(destination + valid, vector_width - valid);
}

// Clears words [first, gemm.words()) of a vector of columns.
inline void zero_words(tile_gemm& gemm, float* column, std::int64_t stride, std::int64_t first)
{
    for(std::int64_t word = first; word < gemm.words(); ++word)
    {
        store_bytes(column + word * stride, vfloat{});
    }
}

// Packs columns whose elements of all k are contiguous: start(column) points to the first.
template <typename Element, typename T, typename Start>
inline void pack_b_k_contiguous(tile_gemm& gemm, std::int64_t valid, const Start& start)
{
    constexpr int W          = vector_width;
    constexpr int per_word   = elements_per_word<Element>;
    const std::int64_t depth = gemm.depth();
    const std::int64_t words = (depth + per_word - 1) / per_word;
    for(std::int64_t column = 0; column < gemm.columns(); column += W)
    {
        const int count           = static_cast<int>(std::min<std::int64_t>(W, valid - column));
        float* destination        = gemm.b_column(column);
        const std::int64_t stride = gemm.b_stride(column);
        const T* source[W];
        for(int j = 0; j < W; ++j) { source[j] = start(column + std::min(j, count - 1)); }

        std::int64_t word = 0;
        for(; (word + W) * per_word <= depth; word += W)
        {
            vfloat rows[W];
            for(int j = 0; j < W; ++j)
            {
                rows[j] = load_words<Element>(source[j] + word * per_word);
            }
            transpose(rows);
            for(int i = 0; i < W; ++i) { store_bytes(destination + (word + i) * stride, rows[i]); }
        }
        for(; word < words; ++word)
        {
            for(int j = 0; j < W; ++j)
            {
                destination[word * stride + j] =
                    load_word<Element>(source[j] + word * per_word, depth - word * per_word);
            }
        }
        zero_words(gemm, destination, stride, words);
    }
    gemm.end_columns();
}

// Calls function(static_cast<T*>(nullptr), static_cast<Element*>(nullptr)): the type of an
// operand's elements, and that of the elements that they are packed as.
template <typename Function>
inline void with_operand_type(data_type type, const tile_gemm& gemm, const Function& function)
{
    with_element_type(type, [&]<typename T>(T* element) {
        with_packed_type<T>(gemm, [&](auto* packed) { function(element, packed); });
    });
}

// The same with the 8-bit types, which forward has.
template <typename Function>
inline void with_any_operand_type(data_type type, const tile_gemm& gemm, const Function& function)
{
    with_operand_type(type, [&]<typename T>(T* element) {
        with_packed_type<T>(gemm, [&](auto* packed) { function(element, packed); });
    });
}

// Lines that lie that far ahead are asked for: they come from where the system finds them, in an
// order that the machine may not guess.
inline constexpr int prefetched_lines = 8;

template <typename T>
[[gnu::always_inline]] inline void prefetch(const T* line, std::int64_t count)
{
    constexpr auto step = static_cast<std::int64_t>(64 / sizeof(T));
    for(std::int64_t i = 0; i < count; i += step) { __builtin_prefetch(line + i); }
}

// Lines of a matrix, one for each k of a step, and room for the one of zeros that an odd number of
// them is filled up with.
template <typename T>
struct k_lines
{
    std::vector<const T*> starts;
    std::vector<T> zeros;

    // `count` lines that are `stride` apart.
    void place(const T* first, std::int64_t stride, std::int64_t count)
    {
        starts.resize(static_cast<std::size_t>(count));
        for(const T*& start : starts)
        {
            start = first;
            first += stride;
        }
    }

    // An even number of lines of that length for pairs.
    template <typename Element>
    void fill_up(std::int64_t length)
    {
        if(elements_per_word<Element> == 1 || starts.size() % 2 == 0) { return; }
        if(zeros.size() < static_cast<std::size_t>(length))
        {
            zeros.assign(static_cast<std::size_t>(length), T{});
        }
        starts.push_back(zeros.data());
    }

    static k_lines& of_thread()
    {
        static thread_local k_lines lines;
        return lines;
    }
};

// Packs columns [first_column, first_column + valid) of B from lines that hold them for one k each.
// The first is a multiple of vector_width; those that fill up the last vector become zeros.
template <typename Element, typename T>
inline void
pack_b_columns(tile_gemm& gemm, std::int64_t first_column, std::int64_t valid, k_lines<T>& lines)
{
    constexpr int W        = vector_width;
    constexpr int per_word = elements_per_word<Element>;
    lines.template fill_up<Element>(valid);
    const auto words          = static_cast<std::int64_t>(lines.starts.size()) / per_word;
    const T* const* line      = lines.starts.data();
    const T* const* const end = line + lines.starts.size();
    for(std::int64_t word = 0; word < words; ++word, line += per_word)
    {
        const T* const first  = line[0];
        const T* const second = line[per_word - 1];
        if(end - line > prefetched_lines)
        {
            prefetch(line[prefetched_lines], valid);
            if constexpr(per_word == 2) { prefetch(line[prefetched_lines + 1], valid); }
        }
        std::int64_t column = 0;
        for(; column + W <= valid; column += W)
        {
            place_words<Element>(
                first + column, second + column, gemm.b_word(word, first_column + column), W);
        }
        if(column < valid)
        {
            place_words<Element>(first + column,
                                 second + column,
                                 gemm.b_word(word, first_column + column),
                                 valid - column);
        }
    }
    for(std::int64_t column = first_column; column < first_column + valid; column += W)
    {
        zero_words(gemm, gemm.b_column(column), gemm.b_stride(column), words);
    }
}

// Packs B when the columns of one k are contiguous: each line points to the first of `valid`.
template <typename Element, typename T>
inline void pack_b_n_contiguous(tile_gemm& gemm, std::int64_t valid, k_lines<T>& lines)
{
    pack_b_columns<Element, T>(gemm, 0, valid, lines);
    gemm.end_columns();
}

// Packs A when the rows of one k are contiguous: each line points to the first of `rows`.
template <typename Element, typename T>
inline void pack_a_m_contiguous(tile_gemm& gemm, std::int64_t rows, k_lines<T>& lines)
{
    constexpr int W        = vector_width;
    constexpr int per_word = elements_per_word<Element>;
    lines.template fill_up<Element>(rows);
    const auto words = static_cast<std::int64_t>(lines.starts.size()) / per_word;
    for(std::int64_t word = 0; word < words; word += W)
    {
        const int count = static_cast<int>(std::min<std::int64_t>(W, words - word));
        const T* source[W][per_word];
        for(int j = 0; j < W; ++j)
        {
            const auto line = static_cast<std::size_t>((word + std::min(j, count - 1)) * per_word);
            for(int half = 0; half < per_word; ++half)
            {
                source[j][half] = lines.starts[line + static_cast<std::size_t>(half)];
            }
        }
        std::int64_t row = 0;
        for(; row + W <= rows && count == W; row += W)
        {
            vfloat block[W];
            for(int j = 0; j < W; ++j)
            {
                float words_of_line[W];
                place_words<Element>(
                    source[j][0] + row, source[j][per_word - 1] + row, words_of_line, W);
                block[j] = load_bytes<vfloat>(words_of_line);
            }
            transpose(block);
            for(int i = 0; i < W; ++i) { store_bytes(gemm.a_words(row + i) + word, block[i]); }
        }
        for(; row < rows; ++row)
        {
            for(int j = 0; j < count; ++j)
            {
                if constexpr(per_word == 1)
                {
                    gemm.a_words(row)[word + j] = element_as_float(source[j][0] + row);
                }
                else
                {
                    gemm.a_words(row)[word + j] =
                        pair_as_word(source[j][0][row], source[j][1][row]);
                }
            }
        }
    }
    gemm.end_rows();
}

} // namespace ck_tile::host_model::impl
