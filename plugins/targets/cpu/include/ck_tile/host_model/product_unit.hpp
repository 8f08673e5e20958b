// SPDX-License-Identifier: MIT
// Which of the machine's units multiplies bf16, and when that computes what the model means.
#pragma once

#include <array>
#include <cstdint>

#include "ck_tile/core/config.hpp"
#include "ck_tile/host_model/data_type.hpp"

namespace ck_tile::host_model {

// Products of two bf16 are exact in fp32, and sums are formed in fp32 with k ascending, by any of
//   fp32   multiply-adds of operands that were widened: all numbers, every machine;
//   pairs  an instruction that adds two products one after the other (AVX512-BF16): same bits;
//   tiles  one that adds 32 products to a sum (AMX): even and odd k apart, rounded as often. A step
//          of a GPU's matrix unit, whose order inside a step is not defined, is of that size too.
// The latter two take subnormal numbers for zero, so they serve operands only of which no product
// and no sum can be subnormal, or overflow.
enum class product_unit : std::uint8_t
{
    fp32,
    pairs,
    tiles
};

inline constexpr std::array all_product_units{
    product_unit::fp32, product_unit::pairs, product_unit::tiles};

constexpr const char* name_of(product_unit unit)
{
    switch(unit)
    {
    case product_unit::fp32: return "fp32";
    case product_unit::pairs: return "pairs";
    case product_unit::tiles: return "tiles";
    }
    return "unknown";
}

// Matrices in memory: `lines` runs of `length` elements, the next one `stride` elements further;
// `batch` of them, the next one `batch_stride` further.
struct operand_lines
{
    const void* data;
    std::int64_t lines, length, stride;
    std::int64_t batch, batch_stride;
};

// Biased exponents of bf16 elements; smallest > largest if all are zeros.
struct exponent_range
{
    int smallest; // of those that are not zero; 0 means a subnormal number
    int largest;  // 255 means infinity or NaN
};

CK_TILE_HOST_MODEL_API exponent_range exponents_of(const operand_lines& operand);

// No sum of `depth` products of such elements, nor a part of it, is subnormal or overflows.
CK_TILE_HOST_MODEL_API bool
sums_stay_normal(const exponent_range& a, const exponent_range& b, std::int64_t depth);

// The best unit that this machine has and that computes as its manual says. The environment's
// CKPROF_CPU_BF16, the name of a unit, rules out better ones.
CK_TILE_HOST_MODEL_API product_unit best_product_unit();

// Rules out better units from now on, for tests. `pairs` is there on any machine, if need be
// imitated.
CK_TILE_HOST_MODEL_API void force_product_unit(product_unit unit);

// The unit for a launch, by its operands as they are now: reads them once if they are of bf16.
CK_TILE_HOST_MODEL_API product_unit choose_product_unit(data_type a_type,
                                                        data_type b_type,
                                                        const operand_lines& a,
                                                        const operand_lines& b,
                                                        std::int64_t depth);

// A number that no launch had before, of any kernel.
CK_TILE_HOST_MODEL_API std::uint64_t next_launch();

CK_TILE_HOST_MODEL_API void count_launch(product_unit unit);

// Launches of bf16 kernels since the library was loaded, by unit.
CK_TILE_HOST_MODEL_API std::uint64_t launches_by(product_unit unit);

} // namespace ck_tile::host_model
