// SPDX-License-Identifier: MIT
// Sums of products of bf16 by an instruction that multiplies tiles of 16 x 32 by 32 x 16 (AMX).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ck_tile/host_model/impl/simd.hpp"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512F__) &&                      \
    defined(__x86_64__) && defined(__linux__)
#define CK_TILE_HOST_MODEL_AMX 1
#include <sys/syscall.h>
#include <unistd.h>
#else
#define CK_TILE_HOST_MODEL_AMX 0
#endif

namespace ck_tile::host_model::impl {

inline constexpr int tile_rows  = 16;
inline constexpr int tile_words = 16; // along k, of two bf16 each; and columns

#if CK_TILE_HOST_MODEL_AMX

// Asks the system for the tiles' registers, which a process has only then; for all its threads.
inline bool may_use_tiles()
{
    constexpr long request_permission = 0x1023; // ARCH_REQ_XCOMP_PERM
    constexpr long tile_data          = 18;     // XFEATURE_XTILEDATA
    static const bool allowed         = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    return allowed;
}

// While one lives, this thread's tile registers are eight of 16 rows of 64 bytes.
class tile_registers
{
public:
    tile_registers()
    {
        struct alignas(64)
        {
            std::uint8_t palette, start_row, reserved[14];
            std::uint16_t row_bytes[16];
            std::uint8_t rows[16];
        } shape{};
        shape.palette = 1;
        for(int i = 0; i < 8; ++i)
        {
            shape.row_bytes[i] = 64;
            shape.rows[i]      = tile_rows;
        }
        // The compiler may not know that tile instructions read and write memory.
        asm volatile("" : : "r"(&shape) : "memory");
        _tile_loadconfig(&shape);
    }
    ~tile_registers()
    {
        _tile_release();
        asm volatile("" : : : "memory");
    }
    tile_registers(const tile_registers&)            = delete;
    tile_registers& operator=(const tile_registers&) = delete;
};

// sums += A * B for Rows x Columns tiles of sums; strides in words, `words` a multiple of
// tile_words.
template <int Rows, int Columns>
inline void multiply_tiles(const float* a,
                           std::ptrdiff_t a_stride,
                           const float* b,
                           std::ptrdiff_t b_stride,
                           std::int64_t words,
                           float* sums,
                           std::ptrdiff_t sum_stride)
{
    constexpr bool two_rows = Rows == 2, two_columns = Columns == 2;
    const auto bytes   = [](std::ptrdiff_t count) { return static_cast<std::size_t>(count) * 4; };
    float* const lower = sums + tile_rows * sum_stride;
    _tile_loadd(0, sums, bytes(sum_stride));
    if constexpr(two_columns) { _tile_loadd(1, sums + tile_words, bytes(sum_stride)); }
    if constexpr(two_rows) { _tile_loadd(2, lower, bytes(sum_stride)); }
    if constexpr(two_rows && two_columns) { _tile_loadd(3, lower + tile_words, bytes(sum_stride)); }
    for(std::int64_t word = 0; word < words; word += tile_words)
    {
        _tile_loadd(4, a + word, bytes(a_stride));
        _tile_loadd(6, b + word * b_stride, bytes(b_stride));
        _tile_dpbf16ps(0, 4, 6);
        if constexpr(two_columns)
        {
            _tile_loadd(7, b + word * b_stride + tile_words, bytes(b_stride));
            _tile_dpbf16ps(1, 4, 7);
        }
        if constexpr(two_rows)
        {
            _tile_loadd(5, a + tile_rows * a_stride + word, bytes(a_stride));
            _tile_dpbf16ps(2, 5, 6);
        }
        if constexpr(two_rows && two_columns) { _tile_dpbf16ps(3, 5, 7); }
    }
    _tile_stored(0, sums, bytes(sum_stride));
    if constexpr(two_columns) { _tile_stored(1, sums + tile_words, bytes(sum_stride)); }
    if constexpr(two_rows) { _tile_stored(2, lower, bytes(sum_stride)); }
    if constexpr(two_rows && two_columns)
    {
        _tile_stored(3, lower + tile_words, bytes(sum_stride));
    }
}

// The instruction agrees with its manual, on one product of tiles whose sums are all rounded: the
// products of the lower halves of words are summed from zero, apart from those of the upper ones,
// then both sums are added, then that to the old sum.
inline bool tiles_as_documented()
{
    alignas(64) std::uint32_t a[tile_rows * tile_words], b[tile_words * tile_words];
    alignas(64) float sums[tile_rows * tile_words];
    std::uint32_t state = 1;
    const auto draw     = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
    // exponents of 2^-4 to 2^3, any sign and fraction
    const auto half = [&] { return (draw() & 0x807fu) | (123u + draw() % 8u) << 7; };
    for(auto& word : a) { word = half() << 16 | half(); }
    for(auto& word : b) { word = half() << 16 | half(); }
    for(float& sum : sums) { sum = static_cast<float>(draw() % 4096) * 0x1p-8f; }
    float expected[tile_rows * tile_words];
    const auto widen = [](std::uint32_t upper) {
        float value;
        std::memcpy(&value, &upper, sizeof(value));
        return value;
    };
    for(int row = 0; row < tile_rows; ++row)
    {
        for(int column = 0; column < tile_words; ++column)
        {
            float lower_sum = 0, upper_sum = 0;
            for(int word = 0; word < tile_words; ++word)
            {
                const std::uint32_t x = a[row * tile_words + word];
                const std::uint32_t y = b[word * tile_words + column];
                lower_sum += widen(x << 16) * widen(y << 16);
                upper_sum += widen(x & 0xffff0000u) * widen(y & 0xffff0000u);
            }
            const int at = row * tile_words + column;
            expected[at] = sums[at] + (lower_sum + upper_sum);
        }
    }
    {
        const tile_registers registers;
        multiply_tiles<1, 1>(reinterpret_cast<const float*>(a),
                             tile_words,
                             reinterpret_cast<const float*>(b),
                             tile_words,
                             tile_words,
                             sums,
                             tile_words);
    }
    return std::memcmp(expected, sums, sizeof(sums)) == 0;
}

#else

inline bool may_use_tiles() { return false; }
inline bool tiles_as_documented() { return false; }

#endif

} // namespace ck_tile::host_model::impl
