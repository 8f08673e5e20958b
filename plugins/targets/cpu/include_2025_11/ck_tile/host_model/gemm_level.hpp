// SPDX-License-Identifier: MIT
// What plain GEMM kernels of this interface level do differently from those of another.
#pragma once

#include "ck_tile/host_model/gemm_store.hpp"

namespace ck_tile::host_model {

struct gemm_level
{
    // Split-K deals out whole steps of the MMA depth as evenly as possible, and every part needs
    // one.
    static constexpr bool deals_steps = true;
    // Hot loop and tail are chosen by each part for itself when it runs.
    static constexpr bool fixed_tails = false;
    // Pipelines name the width that they derive from the tile, whatever is imposed on them.
    static constexpr bool imposed_vectors = false;

    template <typename Pipeline>
    static constexpr bool can_be_persistent = true;

    // A pipeline never multiplies blocks after the end of K.
    template <typename Pipeline>
    static constexpr bool overruns = false;

    // A kernel stores or adds as the number of parts asks for.
    template <typename Epilogue>
    static constexpr gemm_store store = gemm_store::by_split_k;
};

} // namespace ck_tile::host_model
