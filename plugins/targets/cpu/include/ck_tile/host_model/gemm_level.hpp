// SPDX-License-Identifier: MIT
// What plain GEMM kernels of this interface level do differently from those of another.
#pragma once

#include <cstdint>

#include "ck_tile/host_model/gemm_store.hpp"

namespace ck_tile::host_model {

struct gemm_level
{
    // Split-K deals out whole steps of the MMA depth as evenly as possible, and every part needs
    // one.
    static constexpr bool deals_steps = true;
    // Hot loop and tail are chosen by each part for itself when it runs.
    static constexpr bool fixed_tails = false;
    // A vector width that is imposed on a pipeline is the one that it tests.
    static constexpr bool imposed_vectors = true;

    template <typename Pipeline>
    static constexpr bool can_be_persistent = true;

    // A pipeline never multiplies blocks after the end of K.
    template <typename Pipeline>
    static constexpr std::uint32_t overruns = 0;

    // Pipelines that go along another axis than K after the first block of an operand whose fast
    // axis is not K.
    template <typename Pipeline>
    static constexpr bool first_block_only_of_turned = false;

    // Pipelines that turn an operand whose fast axis is not K in registers, in the last of two
    // blocks, although they read it transposed where the device can.
    template <typename Pipeline>
    static constexpr bool turns_last_of_two = false;

    // A kernel stores or adds as the number of parts asks for.
    template <typename Epilogue>
    static constexpr gemm_store store = gemm_store::by_split_k;
};

} // namespace ck_tile::host_model
