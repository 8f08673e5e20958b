// SPDX-License-Identifier: MIT
// Products with a sparse A: of every four elements along K two are kept, and an index register says
// which. C is the destination.
#include "groups/matrix_product.hpp"
#include "isa/handlers.hpp"

namespace ckprof::emulator {
namespace {

using namespace matrix;

// The number, along K, of the kept element e in a group of lanes. Lanes of 16-bit elements, and of
// eight 8-bit ones in two halves, go through K one after the other; with sixteen of 8 bits the
// halves of the groups do, and their fours are interleaved.
template <typename S, unsigned bits>
constexpr unsigned kept_number(unsigned group, unsigned e)
{
    if constexpr(bits == 16)
        return group * S::per_lane + e;
    else
    {
        const unsigned four = e / 4;
        if constexpr(S::per_lane == 8) return four * 4 * S::groups + group * 4 + e % 4;
        constexpr unsigned half = S::groups / 2;
        return group / half * 16 * half + four % 2 * 8 * half + group % half * 8 + four / 2 * 4 +
               e % 4;
    }
}

template <typename A, typename B, typename S>
void smfmac(Wave& wave, const Instruction& i)
{
    using T            = typename A::Number;
    const bool flushed = A::flushable && architecture_of(wave) == Architecture::gfx90a;
    alignas(64) Plane<T> a[S::per_lane], b[2 * S::per_lane];
    read_operand<A, S::per_lane>(wave, i.source[0], 0, a);
    read_operand<B, 2 * S::per_lane>(wave, i.source[1], 0, b);

    // two bits per element, of one of the sets in the register; only the first if CBSZ is not zero
    constexpr unsigned set_bits = 2 * S::per_lane, sets = 32 / set_bits;
    const unsigned set          = i.cbsz == 0 ? i.abid % sets : 0;
    const VectorRegister& index = wave.lanes(i.source[2], wave.temporary[0]);
    unsigned rows[S::per_lane][lane_count]; // where each row of B begins in its planes
    for(unsigned e = 0; e < S::per_lane; ++e)
        for(unsigned lane = 0; lane < lane_count; ++lane)
        {
            constexpr unsigned chunk = 8; // consecutive k of a lane of B, then the next group's
            const unsigned first     = kept_number<S, A::bits>(lane / S::size, e) / 2 * 4;
            const unsigned place     = index.lane[lane] >> (set * set_bits + 2 * e) & 3;
            const unsigned element   = first / (chunk * S::groups) * chunk + first % chunk + place;
            rows[e][lane] = element * lane_count + first % (chunk * S::groups) / chunk * S::size;
        }
    const auto row_of_b = [&b, &rows](unsigned, unsigned e, unsigned lane) {
        return b[0] + rows[e][lane];
    };
    multiply<S, T>(wave, i, i.destination, a, row_of_b, flushed);
}

template <typename Type, typename S>
constexpr Handler alike = &smfmac<Type, Type, S>;

// shapes by the number of kept elements
using Small16 = Shape<16, 16>;
using Large16 = Shape<32, 8>;
using Small8  = Shape<16, 32>;
using Large8  = Shape<32, 16>;
using Wide8   = Shape<16, 64>;

constexpr NamedHandler handlers[] = {
    {"v_smfmac_f32_16x16x32_f16", alike<Fp16, Small16>},
    {"v_smfmac_f32_32x32x16_f16", alike<Fp16, Large16>},
    {"v_smfmac_f32_16x16x64_f16", alike<Fp16, Shape<16, 32>>},
    {"v_smfmac_f32_32x32x32_f16", alike<Fp16, Shape<32, 16>>},
    {"v_smfmac_f32_16x16x32_bf16", alike<Bfp16, Small16>},
    {"v_smfmac_f32_32x32x16_bf16", alike<Bfp16, Large16>},
    {"v_smfmac_f32_16x16x64_bf16", alike<Bfp16, Shape<16, 32>>},
    {"v_smfmac_f32_32x32x32_bf16", alike<Bfp16, Shape<32, 16>>},
    {"v_smfmac_i32_16x16x64_i8", alike<I8, Small8>},
    {"v_smfmac_i32_32x32x32_i8", alike<I8, Large8>},
    {"v_smfmac_i32_16x16x128_i8", alike<I8, Wide8>},
    {"v_smfmac_i32_32x32x64_i8", alike<I8, Shape<32, 32>>},

    {"v_smfmac_f32_16x16x64_fp8_fp8", alike<F8E4m3, Small8>},
    {"v_smfmac_f32_16x16x64_bf8_bf8", alike<F8E5m2, Small8>},
    {"v_smfmac_f32_16x16x64_fp8_bf8", &smfmac<F8E4m3, F8E5m2, Small8>},
    {"v_smfmac_f32_16x16x64_bf8_fp8", &smfmac<F8E5m2, F8E4m3, Small8>},
    {"v_smfmac_f32_32x32x32_fp8_fp8", alike<F8E4m3, Large8>},
    {"v_smfmac_f32_32x32x32_bf8_bf8", alike<F8E5m2, Large8>},
    {"v_smfmac_f32_32x32x32_fp8_bf8", &smfmac<F8E4m3, F8E5m2, Large8>},
    {"v_smfmac_f32_32x32x32_bf8_fp8", &smfmac<F8E5m2, F8E4m3, Large8>},
    {"v_smfmac_f32_16x16x128_fp8_fp8", alike<F8E4m3, Wide8>},
    {"v_smfmac_f32_16x16x128_bf8_bf8", alike<F8E5m2, Wide8>},
    {"v_smfmac_f32_16x16x128_fp8_bf8", &smfmac<F8E4m3, F8E5m2, Wide8>},
    {"v_smfmac_f32_16x16x128_bf8_fp8", &smfmac<F8E5m2, F8E4m3, Wide8>},
    {"v_smfmac_f32_32x32x64_fp8_fp8", alike<F8E4m3, Shape<32, 32>>},
    {"v_smfmac_f32_32x32x64_bf8_bf8", alike<F8E5m2, Shape<32, 32>>},
    {"v_smfmac_f32_32x32x64_fp8_bf8", &smfmac<F8E4m3, F8E5m2, Shape<32, 32>>},
    {"v_smfmac_f32_32x32x64_bf8_fp8", &smfmac<F8E5m2, F8E4m3, Shape<32, 32>>},
};

} // namespace

HandlerTable matrix_sparse_handlers() { return handlers; }

} // namespace ckprof::emulator
