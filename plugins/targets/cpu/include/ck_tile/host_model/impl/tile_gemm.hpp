// SPDX-License-Identifier: MIT
// The arithmetic core: one block's tile as packed panels of 32-bit words. A word is a float, or two
// neighbours in k of bf16 elements (the first in the lower half) for units that multiply those.
//
//   A  row-major [row][word], a fixed leading dimension; the micro-kernel broadcasts from it.
//   B  panels of panel_width columns, each [word][panel_width]; the last may be one vector wide.
//   accumulators  row-major [row][column].
//
// Only as many rows and columns are computed as the problem has, rounded up to a micro-tile.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "ck_tile/core/numeric/tfloat32.hpp"
#include "ck_tile/host_model/impl/pair_products.hpp"
#include "ck_tile/host_model/impl/rows.hpp"
#include "ck_tile/host_model/impl/tile_products.hpp"
#include "ck_tile/host_model/product_unit.hpp"

namespace ck_tile::host_model::impl {

// Micro-tile of a full panel: rows x 2 vectors. 32 registers (AVX-512) carry 12 x 2 accumulators,
// two of B and a broadcast with room to spare; 16 registers carry 6 x 2.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int micro_rows = 8;
#else
inline constexpr int micro_rows = 6;
#endif
inline constexpr int panel_width = 2 * vector_width;

class float_buffer
{
public:
    // Contents are lost when the buffer grows.
    float* reserve(std::size_t count)
    {
        if(count > size_)
        {
            data_.reset();
            data_.reset(static_cast<float*>(::operator new(count * sizeof(float), alignment)));
            size_ = count;
        }
        return data_.get();
    }

private:
    static constexpr std::align_val_t alignment{64};
    struct deleter
    {
        void operator()(float* data) const { ::operator delete(data, alignment); }
    };
    std::unique_ptr<float, deleter> data_;
    std::size_t size_ = 0;
};

// sum += A * B for one micro-tile; Pairs: words are pairs of bf16.
template <bool Pairs, int Rows, int Vectors>
inline void micro_kernel(const float* a,
                         std::ptrdiff_t a_stride,
                         const float* b,
                         std::int64_t words,
                         float* acc,
                         std::ptrdiff_t acc_stride)
{
    vfloat sum[Rows][Vectors];
#pragma GCC unroll 16
    for(int i = 0; i < Rows; ++i)
    {
#pragma GCC unroll 4
        for(int j = 0; j < Vectors; ++j)
        {
            sum[i][j] = load_bytes<vfloat>(acc + i * acc_stride + j * vector_width);
        }
    }
    for(std::int64_t word = 0; word < words; ++word)
    {
        vfloat column[Vectors];
#pragma GCC unroll 4
        for(int j = 0; j < Vectors; ++j) { column[j] = load_bytes<vfloat>(b + j * vector_width); }
        b += Vectors * vector_width;
#pragma GCC unroll 16
        for(int i = 0; i < Rows; ++i)
        {
            if constexpr(Pairs)
            {
                std::uint32_t both;
                std::memcpy(&both, a + i * a_stride + word, sizeof(both));
#pragma GCC unroll 4
                for(int j = 0; j < Vectors; ++j)
                {
                    sum[i][j] = dot_pairs(sum[i][j], vwords{} + both, (vwords)column[j]);
                }
            }
            else
            {
                const float scalar = a[i * a_stride + word];
#pragma GCC unroll 4
                for(int j = 0; j < Vectors; ++j) { sum[i][j] += column[j] * scalar; }
            }
        }
    }
#pragma GCC unroll 16
    for(int i = 0; i < Rows; ++i)
    {
#pragma GCC unroll 4
        for(int j = 0; j < Vectors; ++j)
        {
            store_bytes(acc + i * acc_stride + j * vector_width, sum[i][j]);
        }
    }
}

// Names the columns of B that a block multiplies with, all of their k: blocks of the same launch
// that name the same ones need not pack them again.
struct columns_name
{
    std::uint64_t launch; // 0: the columns have no name
    std::int64_t depth;   // of all steps
    std::int64_t tile, group, part;

    bool operator==(const columns_name&) const = default;
};

class tile_gemm
{
public:
    // Prepares a tile of rows x columns (those inside the problem) with zero accumulators.
    void start(std::int64_t rows,
               std::int64_t columns,
               std::int64_t k_per_block,
               int accumulators,
               product_unit unit          = product_unit::fp32,
               const columns_name& b_name = {})
    {
        unit_ = unit;
        rows_ = rows;
        // Sums go on where they were, so that it does not matter to them whether K blocks are taken
        // one by one, unless they alternate between accumulators.
        step_        = accumulators > 1
                           ? k_per_block
                           : std::max<std::int64_t>(1, deepest_step / k_per_block) * k_per_block;
        padded_rows_ = round_up(rows, unit == product_unit::tiles ? tile_rows : micro_rows);
        columns_     = round_up(columns, vector_width);
        // Rows that are a power of two apart would meet in few lines of the cache.
        a_stride_ = round_up(words_for(step_), vector_width) + vector_width;
        a_        = a_buffer_.reserve(static_cast<std::size_t>(padded_rows_ * a_stride_));
        reserve_b(b_name);
        // Rows that only fill up the last micro-tile are computed and dropped; zeros keep them
        // cheap.
        zero_run(a_ + rows * a_stride_, (padded_rows_ - rows) * a_stride_);

        const std::int64_t acc_size = padded_rows_ * columns_;
        acc_ = acc_buffer_.reserve(static_cast<std::size_t>(acc_size * accumulators));
        zero_run(acc_, acc_size * accumulators);
    }

    // How deep the operands are packed and multiplied at a time: whole K blocks.
    std::int64_t step() const { return step_; }

    // What follows packs and multiplies `depth` values of k, at most step(). Returns whether B has
    // to be packed: it is there if an earlier block named the same columns.
    bool begin_step(std::int64_t depth)
    {
        depth_ = depth;
        words_ = words_for(depth);
        if(!keeps_b_) { return true; }
        b_ = first_b_ + columns_ * begun_words_;
        begun_words_ += words_;
        if(begun_words_ <= kept_words_) { return false; }
        kept_words_ = begun_words_;
        return true;
    }
    std::int64_t depth() const { return depth_; }
    // Words along k that are to be packed; what they hold beyond the depth must be zero.
    std::int64_t words() const { return words_; }
    bool packs_pairs() const { return unit_ != product_unit::fp32; }

    // Row of A as elements: floats, or those of pairs.
    template <typename Element>
    Element* a_row(std::int64_t row)
    { return reinterpret_cast<Element*>(a_ + row * a_stride_); }
    float* a_words(std::int64_t row) { return a_ + row * a_stride_; }
    std::int64_t a_stride() const { return a_stride_; }
    std::int64_t rows() const { return rows_; }

    // To be called when A is packed: clears what its rows hold beyond the depth.
    void end_rows()
    {
        if(!packs_pairs()) { return; }
        for(std::int64_t row = 0; row < rows_; ++row)
        {
            zero_run(a_row<bf16_t>(row) + depth_, 2 * words_ - depth_);
            order_halves(a_words(row), words_);
        }
    }
    // To be called when B is packed.
    void end_columns() { order_halves(b_, columns_ * words_); }

    // Where word (0, column) of B belongs, column a multiple of vector_width; the next one along k
    // is b_stride(column) further.
    float* b_column(std::int64_t column)
    {
        const std::int64_t inside = column & (panel_width - 1);
        return b_ + (column - inside) * words_ + inside;
    }
    float* b_word(std::int64_t word, std::int64_t column)
    { return b_column(column) + word * b_stride(column); }
    std::int64_t b_stride(std::int64_t column) const
    {
        const std::int64_t panel = column & ~std::int64_t{panel_width - 1};
        return columns_ - panel < panel_width ? vector_width : panel_width;
    }
    // Columns to be packed, zeros included: a multiple of vector_width.
    std::int64_t columns() const { return columns_; }

    // Rounds what is packed to TF32.
    void round_rows()
    {
        for(std::int64_t row = 0; row < rows_; ++row) { round_run(a_words(row), depth_); }
    }
    void round_columns() { round_run(b_, columns_ * depth_); }

    // accumulator += A * B for what is packed.
    void multiply(int accumulator)
    {
        float* acc = acc_ + accumulator * padded_rows_ * columns_;
        switch(unit_)
        {
        case product_unit::fp32: multiply_panels<false>(acc); break;
        case product_unit::pairs: multiply_panels<true>(acc); break;
        case product_unit::tiles: multiply_by_tiles(acc); break;
        }
    }

    // Adds the second accumulator to the first.
    void add_accumulators()
    {
        const std::int64_t size = padded_rows_ * columns_;
        for(std::int64_t i = 0; i < size; ++i) { acc_[i] += acc_[size + i]; }
    }

    const float* result_row(std::int64_t row) const { return acc_ + row * columns_; }
    float* result_row(std::int64_t row) { return acc_ + row * columns_; }

private:
    // Values of k. Long enough that loading and storing sums costs little, short enough that a
    // panel of B stays in the first-level cache and all of A in the second.
    static constexpr std::int64_t deepest_step = 256;

    // Columns of B are kept while they fit in this many words, 4 MB: then they are read from a
    // cache.
    static constexpr std::int64_t most_kept_words = 1 << 20;

    void reserve_b(const columns_name& name)
    {
        // each step can end with a word that is not full
        const std::int64_t steps  = (name.depth + step_ - 1) / step_;
        const std::int64_t all    = columns_ * (words_for(name.depth) + steps * tile_words);
        const std::int64_t one    = columns_ * a_stride_;
        keeps_b_                  = name.launch != 0 && all <= most_kept_words;
        const float* const before = first_b_;
        first_b_ = b_buffer_.reserve(static_cast<std::size_t>(keeps_b_ ? std::max(all, one) : one));
        b_       = first_b_;
        begun_words_ = 0;
        if(!keeps_b_ || first_b_ != before || name != kept_ || unit_ != kept_unit_ ||
           columns_ != kept_columns_)
        {
            kept_words_ = 0;
        }
        kept_         = keeps_b_ ? name : columns_name{};
        kept_unit_    = unit_;
        kept_columns_ = columns_;
    }

    static constexpr std::int64_t round_up(std::int64_t value, std::int64_t grain)
    { return (value + grain - 1) / grain * grain; }

    std::int64_t words_for(std::int64_t depth) const
    {
        if(unit_ == product_unit::fp32) { return depth; }
        return round_up((depth + 1) / 2, unit_ == product_unit::tiles ? tile_words : 1);
    }

    static void round_run(float* values, std::int64_t count)
    {
        for(std::int64_t i = 0; i < count; ++i) { values[i] = round_to_tf32(values[i]); }
    }

    template <bool Pairs>
    void multiply_panels(float* acc)
    {
        std::int64_t column = 0;
        for(; column + panel_width <= columns_; column += panel_width)
        {
            multiply_panel<Pairs, 2>(column, acc);
        }
        if(column < columns_) { multiply_panel<Pairs, 1>(column, acc); }
    }

    template <bool Pairs, int Vectors>
    void multiply_panel(std::int64_t column, float* acc)
    {
        const float* b = b_ + column * words_;
        for(std::int64_t row = 0; row < padded_rows_; row += micro_rows)
        {
            micro_kernel<Pairs, micro_rows, Vectors>(a_ + row * a_stride_,
                                                     a_stride_,
                                                     b,
                                                     words_,
                                                     acc + row * columns_ + column,
                                                     columns_);
        }
    }

    // The instruction for pairs adds the product of the upper halves first, but k ascends.
    void order_halves(float* words, std::int64_t count) const
    {
        if(unit_ != product_unit::pairs) { return; }
        std::int64_t i = 0;
        for(; i + vector_width <= count; i += vector_width)
        {
            const auto both = load_bytes<vwords>(words + i);
            store_bytes(words + i, (both << 16) | (both >> 16));
        }
        for(; i < count; ++i)
        {
            std::uint32_t both;
            std::memcpy(&both, words + i, sizeof(both));
            both = std::rotl(both, 16);
            std::memcpy(words + i, &both, sizeof(both));
        }
    }

    void multiply_by_tiles([[maybe_unused]] float* acc)
    {
#if CK_TILE_HOST_MODEL_AMX
        static_assert(panel_width == 2 * tile_words);
        const tile_registers registers;
        std::int64_t column = 0;
        for(; column + panel_width <= columns_; column += panel_width)
        {
            multiply_tile_panel<2>(column, acc);
        }
        if(column < columns_) { multiply_tile_panel<1>(column, acc); }
#endif
    }

#if CK_TILE_HOST_MODEL_AMX
    template <int Columns>
    void multiply_tile_panel(std::int64_t column, float* acc)
    {
        const float* b   = b_ + column * words_;
        std::int64_t row = 0;
        for(; row + 2 * tile_rows <= padded_rows_; row += 2 * tile_rows)
        {
            multiply_tile_rows<2, Columns>(row, column, b, acc);
        }
        if(row < padded_rows_) { multiply_tile_rows<1, Columns>(row, column, b, acc); }
    }

    template <int Rows, int Columns>
    void multiply_tile_rows(std::int64_t row, std::int64_t column, const float* b, float* acc)
    {
        multiply_tiles<Rows, Columns>(a_ + row * a_stride_,
                                      a_stride_,
                                      b,
                                      Columns * tile_words,
                                      words_,
                                      acc + row * columns_ + column,
                                      columns_);
    }
#endif

    product_unit unit_ = product_unit::fp32;
    std::int64_t rows_ = 0, padded_rows_ = 0, columns_ = 0, a_stride_ = 0;
    std::int64_t step_ = 0, depth_ = 0, words_ = 0;
    // Which columns of B are kept, how many words of each, and of how many steps have begun.
    columns_name kept_{};
    product_unit kept_unit_    = product_unit::fp32;
    std::int64_t kept_columns_ = 0, kept_words_ = 0, begun_words_ = 0;
    bool keeps_b_   = false;
    float* first_b_ = nullptr;
    float* a_       = nullptr;
    float* b_       = nullptr;
    float* acc_     = nullptr;
    float_buffer a_buffer_, b_buffer_, acc_buffer_;
};

// Calls function(static_cast<Element*>(nullptr)) with the type of the elements that a tile packs
// operands of type T as.
template <typename T, typename Function>
inline void with_packed_type(const tile_gemm& gemm, const Function& function)
{
    if constexpr(std::is_same_v<T, bf16_t>)
    {
        if(gemm.packs_pairs())
        {
            function(static_cast<bf16_t*>(nullptr));
            return;
        }
    }
    function(static_cast<float*>(nullptr));
}

// Each worker thread keeps its panels between blocks.
inline tile_gemm& thread_tile_gemm()
{
    static thread_local tile_gemm gemm;
    return gemm;
}

} // namespace ck_tile::host_model::impl
