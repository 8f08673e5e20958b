// SPDX-License-Identifier: MIT
// The compile-time side of engine W: how an instance's tile is shared among warpgroups.
#pragma once

#include "ck_tile/cuda_model/matrix_descriptor.hpp"
#include "ck_tile/cuda_model/tile_config.hpp"

namespace ck_tile::cuda_model {

// Products have multiples of 64 rows, and of 8 columns. A convolution's tile that has the former
// along N alone is computed transposed: channels are the rows of its products.
template <typename Base>
inline constexpr bool hopper_transposed =
    !Base::plain && !Base::weight && Base::m % 64 != 0 && Base::n % 64 == 0;

// The sides of an instance's tile as rows and columns of products.
template <typename Base>
inline constexpr int hopper_rows = hopper_transposed<Base> ? Base::n : Base::m;
template <typename Base>
inline constexpr int hopper_columns = hopper_transposed<Base> ? Base::m : Base::n;

// Base is the tile_config of the same instance; m, n, a and b here are those of products.
// TakeTurns: consumers take turns with tiles of their own instead of sharing one.
template <typename Base, int WantedStages, bool TakeTurns>
struct hopper_config : Base
{
    using tile = Base;

    static constexpr bool transposed = hopper_transposed<Base>;

    // Tiles that the register file cannot hold are computed in halves.
    static constexpr int n        = hopper_columns<Base>;
    static constexpr int m        = hopper_rows<Base> == 256 && n > 128 ? 128 : hopper_rows<Base>;
    static constexpr int blocks_m = m / 64; // of 64 rows

    // What of the GEMM a block computes.
    static constexpr int tile_m = transposed ? n : m;
    static constexpr int tile_n = transposed ? m : n;

    static constexpr bool a_k_major = transposed ? Base::b_k_major : Base::a_k_major;
    static constexpr bool b_k_major = transposed ? Base::a_k_major : Base::b_k_major;

    static constexpr bool fits_registers = blocks_m * n / 2 <= 128;
    static constexpr bool turns          = TakeTurns && fits_registers;
    static constexpr int warpgroups      = turns ? 2 : blocks_m == 4 ? 2 : blocks_m; // 1, 2 or 3
    static constexpr int own_blocks      = turns ? blocks_m : blocks_m / warpgroups;
    static constexpr bool clusters       = !turns && !transposed;  // can add parts of K
    static constexpr int threads         = (warpgroups + 1) * 128; // the last warpgroup copies

    // Rows of 128 bytes: K elements of a row or column, or 64 rows or columns of one K.
    static constexpr int columns_per_chunk = n < 64 ? n : 64;
    static constexpr int column_chunks     = (n + 63) / 64;
    static constexpr int a_bytes           = m * hopper_row_bytes;
    static constexpr int b_bytes           = b_k_major ? (n * hopper_row_bytes + 1023) / 1024 * 1024
                                                       : column_chunks * hopper_chunk_bytes;
    static constexpr int stage_bytes       = a_bytes + b_bytes;
    // Copies count whole boxes; a stage can be larger by its alignment.
    static constexpr int stage_bytes_copied =
        a_bytes + (b_k_major ? n * hopper_row_bytes : b_bytes);
    // Where windows and filters are in a stage.
    static constexpr int windows_at = transposed ? a_bytes : 0;
    static constexpr int filters_at = transposed ? 0 : a_bytes;
    // Of 64 channels, where those of filters are contiguous.
    static constexpr int filter_chunks = transposed ? m / 64 : column_chunks;

    // On its way to memory a warpgroup's result is 64 rows of up to 64 columns, or so many columns
    // of 64 rows.
    static constexpr int staged_columns = n % 64 == 0 ? 64 : n % 32 == 0 ? 32 : 16;
    static constexpr int staging_lines  = transposed ? staged_columns : 64;
    static constexpr int staging_line_bytes =
        (transposed ? 64 : staged_columns) * Base::e_bytes + 16;
    static constexpr int staging_bytes = warpgroups * staging_lines * staging_line_bytes;

    static constexpr int accumulators = own_blocks * n / 2; // of a thread

    // Elements of K in one stage.
    static constexpr int k_elements = hopper_row_bytes / Base::ab_bytes;

    static constexpr int other_bytes = 1024 + staging_bytes; // alignment and barriers, too
    static constexpr int room(int resident)
    { return CKPROF_CUDA_SHARED_BYTES / resident - 1024 - other_bytes - 1024; }
    // Registers of a thread when the kernel starts, and after the copying warpgroup has given up
    // what it does not need.
    static constexpr int registers_at_start(int blocks)
    { return 65536 / (threads * blocks) / 8 * 8; }
    static constexpr int producer_registers = 40;
    static constexpr int consumer_registers(int blocks)
    {
        const int start = registers_at_start(blocks) < 240 ? registers_at_start(blocks) : 240;
        const int most  = start + (start - producer_registers) / warpgroups / 8 * 8;
        return most < 240 ? most : 240;
    }
    // An instruction must fit into the registers of the start.
    // Two resident blocks where the scheduler asks for them, more of those with one warpgroup; but
    // a deep pipeline is not cut short for that.
    static constexpr int least_stages = Base::deep || WantedStages < 3        ? WantedStages
                                        : WantedStages >= 8 && warpgroups > 1 ? 4
                                                                              : 3;
    static constexpr int most_resident()
    {
        int count = warpgroups == 1 ? 3 : Base::blocks;
        while(count > 1 && (room(count) < least_stages * stage_bytes ||
                            consumer_registers(count) < accumulators + 40 ||
                            registers_at_start(count) < n / 2 + 32))
        {
            --count;
        }
        return count;
    }
    static constexpr int resident = most_resident();
    static constexpr int stages =
        room(resident) / stage_bytes < WantedStages ? room(resident) / stage_bytes : WantedStages;
    static constexpr int shared_bytes = 1024 + stages * stage_bytes + staging_bytes + 1024;
};

// Elements of 16 bits; 8-bit ones and TF32 are multiplied as they are where all lie along K, as
// they do forward.
template <typename Base>
inline constexpr bool hopper_elements =
    Base::ab_bytes == 2 || ((Base::ab_bytes == 1 || Base::ab_type == data_type::tf32) &&
                            Base::a_k_major && Base::b_k_major);

// Columns that warpgroup products exist for; see wgmma_products.hpp.
constexpr bool is_product_width(int columns)
{
    return columns == 16 || columns == 32 || columns == 64 || columns == 96 || columns == 128 ||
           columns == 192 || columns == 224 || columns == 256;
}

// Whether engine W can compute the instance's tile at all.
template <typename Base>
inline constexpr bool hopper_tile =
    hopper_elements<Base> && hopper_rows<Base> % 64 == 0 && hopper_rows<Base> <= 256 &&
    is_product_width(hopper_columns<Base>) &&
    (Base::b_k_major || hopper_transposed<Base> || Base::n <= 64 || Base::n % 64 == 0) &&
    (Base::weight || Base::merged == 1) &&
    !(hopper_rows<Base> == 192 && hopper_columns<Base> > 128);

} // namespace ck_tile::cuda_model
