// SPDX-License-Identifier: MIT
// Dense products of matrices that lie in the registers of a whole wave, whatever EXEC says, and
// moves from and to the accumulation registers.
#include "groups/matrix_product.hpp"
#include "groups/vector.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

using namespace matrix;

template <typename A, typename B, typename S>
void mfma(Wave& wave, const Instruction& i)
{
    using T            = typename A::Number;
    const bool flushed = A::flushable && architecture_of(wave) == Architecture::gfx90a;
    alignas(64) Plane<T> a[S::per_lane], b[S::per_lane];
    read_operand<A, S::per_lane>(wave, i.source[0], 0, a);
    read_operand<B, S::per_lane>(wave, i.source[1], i.blgp, b);
    if constexpr(S::size == 4)
        multiply_small<S, T>(wave, i, i.source[2], a, b, flushed);
    else
        multiply<S, T>(
            wave,
            i,
            i.source[2],
            a,
            [&b](unsigned group, unsigned e, unsigned) {
                return b[e] + group * S::blocks * S::size;
            },
            flushed);
}

template <typename Type, typename S>
constexpr Handler alike = &mfma<Type, Type, S>;

void move(Wave& wave, const Instruction& i)
{ write_lanes(wave, i.destination, wave.lanes(i.source[0], wave.temporary[0])); }

constexpr NamedHandler handlers[] = {
    {"v_accvgpr_read_b32", &move},
    {"v_accvgpr_write_b32", &move},
    {"v_accvgpr_mov_b32", &move},

    {"v_mfma_f32_32x32x1_2b_f32", alike<Fp32, Shape<32, 1, 2>>},
    {"v_mfma_f32_16x16x1_4b_f32", alike<Fp32, Shape<16, 1, 4>>},
    {"v_mfma_f32_4x4x1_16b_f32", alike<Fp32, Shape<4, 1, 16>>},
    {"v_mfma_f32_32x32x2_f32", alike<Fp32, Shape<32, 2>>},
    {"v_mfma_f32_16x16x4_f32", alike<Fp32, Shape<16, 4>>},
    {"v_mfma_f32_32x32x4_xf32", alike<Xf32, Shape<32, 4>>},
    {"v_mfma_f32_16x16x8_xf32", alike<Xf32, Shape<16, 8>>},

    {"v_mfma_f32_32x32x4_2b_f16", alike<Fp16, Shape<32, 4, 2>>},
    {"v_mfma_f32_16x16x4_4b_f16", alike<Fp16, Shape<16, 4, 4>>},
    {"v_mfma_f32_4x4x4_16b_f16", alike<Fp16, Shape<4, 4, 16>>},
    {"v_mfma_f32_32x32x8_f16", alike<Fp16, Shape<32, 8>>},
    {"v_mfma_f32_16x16x16_f16", alike<Fp16, Shape<16, 16>>},
    {"v_mfma_f32_32x32x16_f16", alike<Fp16, Shape<32, 16>>},
    {"v_mfma_f32_16x16x32_f16", alike<Fp16, Shape<16, 32>>},

    {"v_mfma_f32_32x32x2bf16", alike<Bfp16, Shape<32, 2, 2>>},
    {"v_mfma_f32_16x16x2bf16", alike<Bfp16, Shape<16, 2, 4>>},
    {"v_mfma_f32_4x4x2bf16", alike<Bfp16, Shape<4, 2, 16>>},
    {"v_mfma_f32_32x32x4bf16", alike<Bfp16, Shape<32, 4>>},
    {"v_mfma_f32_16x16x8bf16", alike<Bfp16, Shape<16, 8>>},
    {"v_mfma_f32_32x32x4bf16_1k", alike<Bfp16, Shape<32, 4, 2>>},
    {"v_mfma_f32_16x16x4bf16_1k", alike<Bfp16, Shape<16, 4, 4>>},
    {"v_mfma_f32_4x4x4bf16_1k", alike<Bfp16, Shape<4, 4, 16>>},
    {"v_mfma_f32_32x32x8bf16_1k", alike<Bfp16, Shape<32, 8>>},
    {"v_mfma_f32_16x16x16bf16_1k", alike<Bfp16, Shape<16, 16>>},
    {"v_mfma_f32_32x32x4_2b_bf16", alike<Bfp16, Shape<32, 4, 2>>},
    {"v_mfma_f32_16x16x4_4b_bf16", alike<Bfp16, Shape<16, 4, 4>>},
    {"v_mfma_f32_4x4x4_16b_bf16", alike<Bfp16, Shape<4, 4, 16>>},
    {"v_mfma_f32_32x32x8_bf16", alike<Bfp16, Shape<32, 8>>},
    {"v_mfma_f32_16x16x16_bf16", alike<Bfp16, Shape<16, 16>>},
    {"v_mfma_f32_32x32x16_bf16", alike<Bfp16, Shape<32, 16>>},
    {"v_mfma_f32_16x16x32_bf16", alike<Bfp16, Shape<16, 32>>},

    {"v_mfma_i32_32x32x4_2b_i8", alike<I8, Shape<32, 4, 2>>},
    {"v_mfma_i32_16x16x4_4b_i8", alike<I8, Shape<16, 4, 4>>},
    {"v_mfma_i32_4x4x4_16b_i8", alike<I8, Shape<4, 4, 16>>},
    {"v_mfma_i32_32x32x8i8", alike<I8, Shape<32, 8>>},
    {"v_mfma_i32_16x16x16i8", alike<I8, Shape<16, 16>>},
    {"v_mfma_i32_32x32x16_i8", alike<I8, Shape<32, 16>>},
    {"v_mfma_i32_16x16x32_i8", alike<I8, Shape<16, 32>>},
    {"v_mfma_i32_32x32x32_i8", alike<I8, Shape<32, 32>>},
    {"v_mfma_i32_16x16x64_i8", alike<I8, Shape<16, 64>>},

    {"v_mfma_f32_32x32x16_fp8_fp8", alike<F8E4m3, Shape<32, 16>>},
    {"v_mfma_f32_32x32x16_bf8_bf8", alike<F8E5m2, Shape<32, 16>>},
    {"v_mfma_f32_32x32x16_fp8_bf8", &mfma<F8E4m3, F8E5m2, Shape<32, 16>>},
    {"v_mfma_f32_32x32x16_bf8_fp8", &mfma<F8E5m2, F8E4m3, Shape<32, 16>>},
    {"v_mfma_f32_16x16x32_fp8_fp8", alike<F8E4m3, Shape<16, 32>>},
    {"v_mfma_f32_16x16x32_bf8_bf8", alike<F8E5m2, Shape<16, 32>>},
    {"v_mfma_f32_16x16x32_fp8_bf8", &mfma<F8E4m3, F8E5m2, Shape<16, 32>>},
    {"v_mfma_f32_16x16x32_bf8_fp8", &mfma<F8E5m2, F8E4m3, Shape<16, 32>>},
};

} // namespace

HandlerTable matrix_handlers() { return handlers; }

} // namespace ckprof::emulator
