// SPDX-License-Identifier: MIT
// What convolution kernels of this interface level do differently from those of another.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "ck_tile/host_model/kernel_facts.hpp"
#include "ck_tile/ops/epilogue/memory_operation.hpp"

namespace ck_tile::host_model {

struct conv_level
{
    // More splits than steps of the matrix instruction, or than additions in 16 bits allow, are
    // rejected.
    static constexpr bool bounds_splits = false;
    // Kernels of backward data can split their reduction.
    static constexpr bool splits_backward_data = false;

    // What a kernel is called: the pipelines differ in what they tell of themselves.
    template <typename Kernel>
    static std::string name_of_kernel()
    {
        using pipeline                    = typename Kernel::GemmPipeline;
        constexpr kernel_facts facts      = Kernel::facts;
        constexpr bool weight             = facts.direction == direction::backward_weight;
        const std::string_view class_name = facts.pipeline_class;

        std::string name = facts.direction == direction::forward ? "grouped_convolution_forward"
                           : weight ? "grouped_convolution_backward_weight"
                                    : "grouped_convolution_backward_data";
        name += std::string("_") + name_of(facts.a_type) + "_gemm_pipeline_";
        const auto widths = times({pipeline::GetVectorSizeA(), pipeline::GetVectorSizeB(), 1});
        const auto tile   = times({facts.m_per_block, facts.n_per_block, facts.k_per_block});
        const auto tile_and_threads =
            times({facts.m_per_block, facts.n_per_block, facts.k_per_block, facts.block_size});
        if(class_name == "AgBgCrMem") { name += "AgBgCrMe_" + tile + "_" + widths; }
        else if(class_name == "AgBgCrCompV3")
        {
            name += "AgBgCrCompV3_" + tile + "_" + std::to_string(facts.block_size) + "_" +
                    times({facts.m_waves, facts.n_waves});
        }
        else
        {
            name += facts.pipeline_class + ("_" + tile_and_threads) + "_" + widths;
        }
        name += "_1x1x1_epilogue_CShuffleEpilogue_" + times({facts.m_waves, facts.n_waves}) + "_" +
                times({facts.m_mma, facts.n_mma, facts.k_mma}) + "_" +
                std::to_string(facts.vector_size_c) + "_CNotTransposed_" +
                (Kernel::EpiloguePipeline::MemoryOperation == memory_operation_enum::set
                     ? "set"
                     : "atomic_add");
        // of kernels that merge groups they tell nothing, of others they do
        if(weight && facts.groups_to_merge == 1) { name += "_merge_1"; }
        return name;
    }

private:
    static std::string times(std::initializer_list<int> sizes)
    {
        std::string text;
        for(const int size : sizes) { text += (text.empty() ? "" : "x") + std::to_string(size); }
        return text;
    }
};

} // namespace ck_tile::host_model
