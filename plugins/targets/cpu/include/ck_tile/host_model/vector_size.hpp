// SPDX-License-Identifier: MIT
// Widths of memory accesses that CK Tile derives from a tile.
#pragma once

#include <cstddef>

#include "ck_tile/core/numeric/integer.hpp"

namespace ck_tile::host_model {

// Elements of the widest of 16 and 8 bytes of which both the contiguous extent of the tile and the
// share of a thread are multiples, else one element: what pipelines use unless a width is imposed.
constexpr index_t
native_vector_size(index_t element_bytes, index_t contiguous, index_t strided, index_t threads)
{
    const index_t share = contiguous * strided / threads;
    for(const index_t bytes : {16, 8})
    {
        const index_t elements = bytes / element_bytes;
        if(contiguous % elements == 0 && share % elements == 0) { return elements; }
    }
    return 1;
}

// What the basic pipeline uses unless a width is imposed: 16 bytes, where threads load across the
// rows of the tile at most their share of it; single elements if the contiguous axis is padded.
constexpr index_t basic_vector_size(
    index_t element_bytes, index_t tile_elements, index_t threads, bool crosswise, bool padded)
{
    if(padded) { return 1; }
    const index_t widest = 16 / element_bytes;
    const index_t share  = tile_elements / threads;
    return crosswise && share < widest ? share : widest;
}

// What an epilogue uses for a tensor whose rows it writes or reads: 16 bytes, at most the columns
// that the waves cover at once.
constexpr index_t row_vector_size(std::size_t element_bytes, index_t columns)
{
    const auto widest = static_cast<index_t>(16 / element_bytes);
    return columns < widest ? columns : widest;
}

} // namespace ck_tile::host_model
