// SPDX-License-Identifier: MIT
// From the template arguments of a kernel of July 2025 to kernel_facts.
#pragma once

#include <string_view>

#include "ck_tile/host_model/make_kernel_facts.hpp"

namespace ck_tile::host_model {

// What every pipeline but the basic one derives from the tile instead of taking it from the
// problem: the widest of 16, 8, 4 and 2 bytes of which rows of the tile and the share of a thread
// are multiples.
template <typename T>
constexpr index_t tile_vector_size(index_t rows, index_t row_length, index_t threads)
{
    constexpr auto size = static_cast<index_t>(sizeof(T));
    const index_t share = rows * row_length / threads;
    for(const index_t bytes : {16, 8})
    {
        const index_t elements = bytes / size;
        if(row_length % elements == 0 && share % elements == 0) { return elements; }
    }
    return 1;
}

// The traits do not hold what the general function looks for there.
template <typename Traits, index_t A, index_t B, index_t C>
struct complete_traits : Traits
{
    static constexpr index_t VectorSizeA   = A;
    static constexpr index_t VectorSizeB   = B;
    static constexpr index_t VectorSizeC   = C;
    static constexpr bool EnableSplitImage = false;
    static constexpr bool ExplicitGemm     = false;
};

template <direction Direction,
          typename ConvTraits,
          typename TilePartitioner,
          typename Pipeline,
          typename Epilogue>
constexpr kernel_facts make_level_facts()
{
    constexpr bool basic =
        std::string_view(Pipeline::facts.class_name) == std::string_view("AGmemBGmemCRegV1");
    constexpr index_t threads   = Pipeline::BlockSize;
    constexpr index_t derived_a = tile_vector_size<typename Pipeline::ADataType>(
        Pipeline::MPerBlock, Pipeline::KPerBlock, threads);
    constexpr index_t derived_b = tile_vector_size<typename Pipeline::BDataType>(
        Pipeline::NPerBlock, Pipeline::KPerBlock, threads);
    using traits = complete_traits<ConvTraits,
                                   basic ? Pipeline::VectorSizeA : derived_a,
                                   basic ? Pipeline::VectorSizeB : derived_b,
                                   Epilogue::GetVectorSizeC()>;
    kernel_facts facts =
        make_kernel_facts<Direction, traits, TilePartitioner, Pipeline, Epilogue>();
    // the kernels accept as many splits as they are asked for
    facts.bounds_splits = false;
    return facts;
}

} // namespace ck_tile::host_model
