// SPDX-License-Identifier: MIT
// The warpgroup matrix product of 64 rows, N columns and 32 bytes of K with both operands in shared
// memory, one function per N. An instruction names all its registers, and inline assembly takes
// string literals alone: macros write them out, 8 registers of a thread (16 columns) at a time.
#pragma once

#include <cstdint>

#include "ck_tile/host_model/kernel_facts.hpp"

namespace ck_tile::cuda_model {

// d = a b (+ d if accumulate) for matrices a of 64 rows and b of N columns, given by descriptors,
// with 16 steps of K, or 32 of 8-bit types. A transposed operand has its rows or columns contiguous
// instead of K; 8-bit ones cannot be.
template <host_model::data_type Type, int N, bool TransposeA, bool TransposeB>
struct warpgroup_product;

// Registers by number, in the text of an instruction and as its operands.
#define CKPROF_TEXT(a, b, c, d, e, f, g, h)                                                        \
    "%" #a ", %" #b ", %" #c ", %" #d ", %" #e ", %" #f ", %" #g ", %" #h
#define CKPROF_MORE_TEXT(...) ", " CKPROF_TEXT(__VA_ARGS__)
#define CKPROF_OPERANDS(i, j, k, l, m, n, o, p)                                                    \
    "+f"(d[i]), "+f"(d[j]), "+f"(d[k]), "+f"(d[l]), "+f"(d[m]), "+f"(d[n]), "+f"(d[o]), "+f"(d[p])
#define CKPROF_MORE_OPERANDS(...) , CKPROF_OPERANDS(__VA_ARGS__)
#define CKPROF_INTEGERS(i, j, k, l, m, n, o, p)                                                    \
    "+r"(d[i]), "+r"(d[j]), "+r"(d[k]), "+r"(d[l]), "+r"(d[m]), "+r"(d[n]), "+r"(d[o]), "+r"(d[p])
#define CKPROF_MORE_INTEGERS(...) , CKPROF_INTEGERS(__VA_ARGS__)

// The registers of so many columns: the first 8 by one macro, all others by a second one.
#define CKPROF_COLUMNS_16(FIRST, MORE) FIRST(0, 1, 2, 3, 4, 5, 6, 7)
#define CKPROF_COLUMNS_32(FIRST, MORE)                                                             \
    CKPROF_COLUMNS_16(FIRST, MORE) MORE(8, 9, 10, 11, 12, 13, 14, 15)
#define CKPROF_COLUMNS_48(FIRST, MORE)                                                             \
    CKPROF_COLUMNS_32(FIRST, MORE) MORE(16, 17, 18, 19, 20, 21, 22, 23)
#define CKPROF_COLUMNS_64(FIRST, MORE)                                                             \
    CKPROF_COLUMNS_48(FIRST, MORE) MORE(24, 25, 26, 27, 28, 29, 30, 31)
#define CKPROF_COLUMNS_80(FIRST, MORE)                                                             \
    CKPROF_COLUMNS_64(FIRST, MORE) MORE(32, 33, 34, 35, 36, 37, 38, 39)
#define CKPROF_COLUMNS_96(FIRST, MORE)                                                             \
    CKPROF_COLUMNS_80(FIRST, MORE) MORE(40, 41, 42, 43, 44, 45, 46, 47)
#define CKPROF_COLUMNS_112(FIRST, MORE)                                                            \
    CKPROF_COLUMNS_96(FIRST, MORE) MORE(48, 49, 50, 51, 52, 53, 54, 55)
#define CKPROF_COLUMNS_128(FIRST, MORE)                                                            \
    CKPROF_COLUMNS_112(FIRST, MORE) MORE(56, 57, 58, 59, 60, 61, 62, 63)
#define CKPROF_COLUMNS_144(FIRST, MORE)                                                            \
    CKPROF_COLUMNS_128(FIRST, MORE) MORE(64, 65, 66, 67, 68, 69, 70, 71)
#define CKPROF_COLUMNS_160(FIRST, MORE)                                                            \
    CKPROF_COLUMNS_144(FIRST, MORE) MORE(72, 73, 74, 75, 76, 77, 78, 79)
#define CKPROF_COLUMNS_176(FIRST, MORE)                                                            \
    CKPROF_COLUMNS_160(FIRST, MORE) MORE(80, 81, 82, 83, 84, 85, 86, 87)
#define CKPROF_COLUMNS_192(FIRST, MORE)                                                            \
    CKPROF_COLUMNS_176(FIRST, MORE) MORE(88, 89, 90, 91, 92, 93, 94, 95)
#define CKPROF_COLUMNS_208(FIRST, MORE)                                                            \
    CKPROF_COLUMNS_192(FIRST, MORE) MORE(96, 97, 98, 99, 100, 101, 102, 103)
#define CKPROF_COLUMNS_224(FIRST, MORE)                                                            \
    CKPROF_COLUMNS_208(FIRST, MORE) MORE(104, 105, 106, 107, 108, 109, 110, 111)
#define CKPROF_COLUMNS_240(FIRST, MORE)                                                            \
    CKPROF_COLUMNS_224(FIRST, MORE) MORE(112, 113, 114, 115, 116, 117, 118, 119)
#define CKPROF_COLUMNS_256(FIRST, MORE)                                                            \
    CKPROF_COLUMNS_240(FIRST, MORE) MORE(120, 121, 122, 123, 124, 125, 126, 127)

// The operands after the registers have the numbers A to TRANSPOSE_B.
#define CKPROF_WARPGROUP_PRODUCT(TYPE, PTX_TYPE, N, A, B, ACCUMULATE, TRANSPOSE_A, TRANSPOSE_B)    \
    template <bool TransposeA, bool TransposeB>                                                    \
    struct warpgroup_product<host_model::data_type::TYPE, N, TransposeA, TransposeB>               \
    {                                                                                              \
        __device__ static __forceinline__ void                                                     \
        issue(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, int accumulate)                 \
        {                                                                                          \
            asm volatile(                                                                          \
                "{ .reg .pred p; setp.ne.b32 p, %" #ACCUMULATE ", 0; "                             \
                "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." PTX_TYPE "." PTX_TYPE            \
                " {" CKPROF_COLUMNS_##N(CKPROF_TEXT, CKPROF_MORE_TEXT) "}, %" #A ", %" #B          \
                                                                       ", p, 1, 1, %" #TRANSPOSE_A \
                                                                       ", %" #TRANSPOSE_B "; }"    \
                : CKPROF_COLUMNS_##N(CKPROF_OPERANDS, CKPROF_MORE_OPERANDS)                        \
                : "l"(a), "l"(b), "r"(accumulate), "n"(int{TransposeA}), "n"(int{TransposeB}));    \
        }                                                                                          \
    };

#define CKPROF_BYTE_PRODUCT(TYPE, SUM, FORMATS, SCALES, OPERANDS, MORE, N, A, B, ACCUMULATE)       \
    template <>                                                                                    \
    struct warpgroup_product<host_model::data_type::TYPE, N, false, false>                         \
    {                                                                                              \
        __device__ static __forceinline__ void                                                     \
        issue(SUM (&d)[N / 2], std::uint64_t a, std::uint64_t b, int accumulate)                   \
        {                                                                                          \
            asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #ACCUMULATE ", 0; "                    \
                         "wgmma.mma_async.sync.aligned.m64n" #N "k32." FORMATS                     \
                         " {" CKPROF_COLUMNS_##N(CKPROF_TEXT, CKPROF_MORE_TEXT) "}, %" #A ", %" #B \
                                                                                ", p" SCALES "; }" \
                         : CKPROF_COLUMNS_##N(OPERANDS, MORE)                                      \
                         : "l"(a), "l"(b), "r"(accumulate));                                       \
        }                                                                                          \
    };
#define CKPROF_FLOAT8_PRODUCT(TYPE, PTX_TYPE, ...)                                                 \
    CKPROF_BYTE_PRODUCT(TYPE,                                                                      \
                        float,                                                                     \
                        "f32." PTX_TYPE "." PTX_TYPE,                                              \
                        ", 1, 1",                                                                  \
                        CKPROF_OPERANDS,                                                           \
                        CKPROF_MORE_OPERANDS,                                                      \
                        __VA_ARGS__)

// TF32 has no transposed operands.
#define CKPROF_TF32_PRODUCT(N, A, B, ACCUMULATE)                                                   \
    template <>                                                                                    \
    struct warpgroup_product<host_model::data_type::tf32, N, false, false>                         \
    {                                                                                              \
        __device__ static __forceinline__ void                                                     \
        issue(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, int accumulate)                 \
        {                                                                                          \
            asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #ACCUMULATE ", 0; "                    \
                         "wgmma.mma_async.sync.aligned.m64n" #N "k8.f32.tf32.tf32"                 \
                         " {" CKPROF_COLUMNS_##N(CKPROF_TEXT, CKPROF_MORE_TEXT) "}, %" #A ", %" #B \
                                                                                ", p, 1, 1; }"     \
                         : CKPROF_COLUMNS_##N(CKPROF_OPERANDS, CKPROF_MORE_OPERANDS)               \
                         : "l"(a), "l"(b), "r"(accumulate));                                       \
        }                                                                                          \
    };

#define CKPROF_WARPGROUP_PRODUCTS(N, A, B, ACCUMULATE, ...)                                        \
    CKPROF_WARPGROUP_PRODUCT(fp16, "f16", N, A, B, ACCUMULATE, __VA_ARGS__)                        \
    CKPROF_WARPGROUP_PRODUCT(bf16, "bf16", N, A, B, ACCUMULATE, __VA_ARGS__)                       \
    CKPROF_TF32_PRODUCT(N, A, B, ACCUMULATE)                                                       \
    CKPROF_FLOAT8_PRODUCT(fp8_ocp, "e4m3", N, A, B, ACCUMULATE)                                    \
    CKPROF_FLOAT8_PRODUCT(bf8_ocp, "e5m2", N, A, B, ACCUMULATE)                                    \
    CKPROF_BYTE_PRODUCT(                                                                           \
        int8, int, "s32.s8.s8", "", CKPROF_INTEGERS, CKPROF_MORE_INTEGERS, N, A, B, ACCUMULATE)

CKPROF_WARPGROUP_PRODUCTS(16, 8, 9, 10, 11, 12)
CKPROF_WARPGROUP_PRODUCTS(32, 16, 17, 18, 19, 20)
CKPROF_WARPGROUP_PRODUCTS(64, 32, 33, 34, 35, 36)
CKPROF_WARPGROUP_PRODUCTS(96, 48, 49, 50, 51, 52)
CKPROF_WARPGROUP_PRODUCTS(128, 64, 65, 66, 67, 68)
CKPROF_WARPGROUP_PRODUCTS(192, 96, 97, 98, 99, 100)
CKPROF_WARPGROUP_PRODUCTS(224, 112, 113, 114, 115, 116)
CKPROF_WARPGROUP_PRODUCTS(256, 128, 129, 130, 131, 132)

#undef CKPROF_WARPGROUP_PRODUCTS
#undef CKPROF_TF32_PRODUCT
#undef CKPROF_FLOAT8_PRODUCT
#undef CKPROF_BYTE_PRODUCT
#undef CKPROF_WARPGROUP_PRODUCT
#undef CKPROF_COLUMNS_256
#undef CKPROF_COLUMNS_240
#undef CKPROF_COLUMNS_224
#undef CKPROF_COLUMNS_208
#undef CKPROF_COLUMNS_192
#undef CKPROF_COLUMNS_176
#undef CKPROF_COLUMNS_160
#undef CKPROF_COLUMNS_144
#undef CKPROF_COLUMNS_128
#undef CKPROF_COLUMNS_112
#undef CKPROF_COLUMNS_96
#undef CKPROF_COLUMNS_80
#undef CKPROF_COLUMNS_64
#undef CKPROF_COLUMNS_48
#undef CKPROF_COLUMNS_32
#undef CKPROF_COLUMNS_16
#undef CKPROF_MORE_INTEGERS
#undef CKPROF_INTEGERS
#undef CKPROF_MORE_OPERANDS
#undef CKPROF_OPERANDS
#undef CKPROF_MORE_TEXT
#undef CKPROF_TEXT

} // namespace ck_tile::cuda_model
