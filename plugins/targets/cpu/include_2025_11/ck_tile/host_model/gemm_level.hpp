// SPDX-License-Identifier: MIT
// What plain GEMM kernels of this interface level do differently from those of another.
#pragma once

#include <cstdint>
#include <string_view>

#include "ck_tile/host_model/gemm_store.hpp"
#include "ck_tile/ops/epilogue/memory_operation.hpp"

namespace ck_tile::host_model {

struct gemm_level
{
    // All parts of split-K but the last cover the same number of MMA steps.
    static constexpr bool deals_steps = false;
    // Hot loop and tail are template arguments, the same for all parts.
    static constexpr bool fixed_tails = true;
    // Pipelines test the width that they derive from the tile, whatever is imposed on them.
    static constexpr bool imposed_vectors = false;

    // The others ignore the flag.
    template <typename Pipeline>
    static constexpr bool can_be_persistent =
        std::string_view(Pipeline::facts.class_name) == std::string_view("AgBgCrMem") ||
        std::string_view(Pipeline::facts.class_name) == std::string_view("AgBgCrCompV3") ||
        std::string_view(Pipeline::facts.class_name) == std::string_view("AgBgCrCompV4");

    // This one multiplies two blocks behind the end if there are three.
    template <typename Pipeline>
    static constexpr std::uint32_t overruns =
        std::string_view(Pipeline::facts.class_name) == std::string_view("AgBgCrCompV4") ? 0b1000
                                                                                         : 0;

    // Pipelines that go along another axis than K after the first block of an operand whose fast
    // axis is not K.
    template <typename Pipeline>
    static constexpr bool first_block_only_of_turned = Pipeline::facts.basic;

    // Pipelines that turn an operand whose fast axis is not K in registers, in the last of two
    // blocks, although they read it transposed where the device can.
    template <typename Pipeline>
    static constexpr bool turns_last_of_two = false;

    template <typename Epilogue>
    static constexpr gemm_store store =
        Epilogue::MemoryOperation == memory_operation_enum::set ? gemm_store::set
                                                                : gemm_store::atomic_add;
};

} // namespace ck_tile::host_model
