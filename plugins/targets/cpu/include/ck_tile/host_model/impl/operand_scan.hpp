// SPDX-License-Identifier: MIT
// What operands of bf16 hold, and whether a unit that takes subnormal numbers for zero may serve
// them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ck_tile/host_model/device.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/impl/sampling.hpp"
#include "ck_tile/host_model/impl/simd.hpp"
#include "ck_tile/host_model/product_unit.hpp"

namespace ck_tile::host_model::impl {

// Magnitudes of a run, as bits shifted left by one: the sign is gone.
struct magnitude_range
{
    std::uint16_t smallest_less_one = 0xffff; // zeros wrap around to this
    std::uint16_t largest           = 0;

    void include(const magnitude_range& other)
    {
        smallest_less_one = std::min(smallest_less_one, other.smallest_less_one);
        largest           = std::max(largest, other.largest);
    }
};

inline magnitude_range magnitudes_of(const bf16_t* run, std::int64_t count)
{
    constexpr int N = 2 * vector_width;
    using halves    = simd<std::uint16_t, N>;
    halves smallest = ~halves{}, largest{};
    std::int64_t i  = 0;
    for(; i + N <= count; i += N)
    {
        const auto bits    = load_bytes<halves>(run + i);
        const halves twice = bits + bits, less = twice - 1;
        smallest = less < smallest ? less : smallest;
        largest  = twice > largest ? twice : largest;
    }
    magnitude_range range;
    for(int lane = 0; lane < N; ++lane) { range.include({smallest[lane], largest[lane]}); }
    for(; i < count; ++i)
    {
        const auto twice = static_cast<std::uint16_t>(2u * run[i].bits);
        range.include({static_cast<std::uint16_t>(twice - 1u), twice});
    }
    return range;
}

// Lines are looked at by threads in pieces of that many elements.
inline constexpr std::int64_t scanned_at_once = 1 << 16;

struct operand_scan
{
    operand_lines operand;
    std::int64_t pieces_per_line;
    // of the pieces that a block looks at, at a place of its own
    std::vector<magnitude_range> found;

    std::int64_t pieces() const { return operand.batch * operand.lines * pieces_per_line; }

    magnitude_range look_at(std::int64_t piece) const
    {
        const std::int64_t line  = piece / pieces_per_line;
        const std::int64_t begin = piece % pieces_per_line * scanned_at_once;
        const auto* const start  = static_cast<const bf16_t*>(operand.data) +
                                   line / operand.lines * operand.batch_stride +
                                   line % operand.lines * operand.stride;
        return magnitudes_of(start + begin, std::min(scanned_at_once, operand.length - begin));
    }

    static void run_block(const void* context, const block_position& block)
    {
        auto& scan             = **static_cast<operand_scan* const*>(context);
        const auto blocks      = static_cast<std::int64_t>(block.grid.x);
        const auto whole       = scan.pieces();
        magnitude_range& range = scan.found[block.x];
        for(std::int64_t piece = whole * block.x / blocks; piece < whole * (block.x + 1) / blocks;
            ++piece)
        {
            range.include(scan.look_at(piece));
        }
    }
};

} // namespace ck_tile::host_model::impl

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API exponent_range exponents_of(const operand_lines& operand)
{
    using namespace impl;
    operand_scan scan{operand, (operand.length + scanned_at_once - 1) / scanned_at_once, {}};
    const std::int64_t elements = operand.batch * operand.lines * operand.length;
    const std::int64_t blocks =
        std::clamp<std::int64_t>(elements / scanned_at_once, 1, 4 * worker_count());
    scan.found.resize(static_cast<std::size_t>(blocks));
    operand_scan* const context = &scan;
    run_grid(dim3(static_cast<std::uint32_t>(blocks)), &operand_scan::run_block, &context);
    magnitude_range range;
    for(const magnitude_range& part : scan.found) { range.include(part); }
    // of zeros alone, the smallest is beyond every exponent
    const int smallest =
        range.smallest_less_one == 0xffff ? 256 : (range.smallest_less_one + 1) >> 8;
    return {smallest, range.largest >> 8};
}

CK_TILE_HOST_MODEL_API bool
sums_stay_normal(const exponent_range& a, const exponent_range& b, std::int64_t depth)
{
    // An element of biased exponent e >= 1 is an integer times 2^(e - 127 - 7), so that every sum,
    // also a rounded one, is an integer times the product of two such units. Is that at least
    // 2^-126, the smallest normal number, then nothing lies between it and zero.
    const bool normal =
        a.smallest >= 1 && b.smallest >= 1 && a.smallest + b.smallest >= 2 * 134 - 126;
    // An element is below 2^(e - 126), and a sum of `depth` products below 2^127.
    const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(depth)));
    const bool finite =
        a.largest < 255 && b.largest < 255 && a.largest + b.largest - 2 * 126 + bits <= 127;
    return normal && finite;
}

CK_TILE_HOST_MODEL_API product_unit choose_product_unit(data_type a_type,
                                                        data_type b_type,
                                                        const operand_lines& a,
                                                        const operand_lines& b,
                                                        std::int64_t depth)
{
    if(a_type != data_type::bf16 || b_type != data_type::bf16 || current_sampling().is_on())
    {
        return product_unit::fp32;
    }
    product_unit unit = best_product_unit();
    if(unit != product_unit::fp32 && !sums_stay_normal(exponents_of(a), exponents_of(b), depth))
    {
        unit = product_unit::fp32;
    }
    count_launch(unit);
    return unit;
}

} // namespace ck_tile::host_model
