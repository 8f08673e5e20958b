// SPDX-License-Identifier: MIT
// What all GEMM pipelines of the host model have in common.
//
// A pipeline decides on a GPU how loads, local memory and matrix instructions overlap. None of that
// changes the sum that is computed, so here a pipeline is a name, a thread count, a few facts and
// the loop-count arithmetic that launchers ask for. The one exception is the number of
// accumulators.
#pragma once

#include <type_traits>

#include "ck_tile/core/numeric/integral_constant.hpp"
#include "ck_tile/host_model/gemm_level.hpp"
#include "ck_tile/host_model/loop_tail.hpp"
#include "ck_tile/host_model/vector_size.hpp"
#include "ck_tile/ops/common/tensor_layout.hpp"
#include "ck_tile/ops/gemm/pipeline/gemm_pipeline_scheduler.hpp"

namespace ck_tile::host_model {

struct pipeline_facts
{
    const char* name;                 // in instance strings
    const char* class_name;           // in kernel names
    index_t load_waves          = 0;  // waves that only load
    const char* needs           = ""; // capability that the device must have
    index_t accumulators        = 1;
    index_t min_loops_per_split = 0;
    bool basic                  = false; // takes vector widths from its problem alone
};

// Description is a type with `static constexpr pipeline_facts facts` (a template argument cannot
// hold text).
template <typename Problem_, typename Description>
struct pipeline_model
{
    using Problem        = Problem_;
    using ADataType      = typename Problem::ADataType;
    using BDataType      = typename Problem::BDataType;
    using CDataType      = typename Problem::CDataType;
    using AComputeType   = typename Problem::AComputeType;
    using BComputeType   = typename Problem::BComputeType;
    using ALayout        = typename Problem::Traits::ALayout;
    using BLayout        = typename Problem::Traits::BLayout;
    using CLayout        = typename Problem::Traits::CLayout;
    using BlockGemmShape = typename Problem::BlockGemmShape;

    static constexpr pipeline_facts facts = Description::facts;

    static constexpr GemmPipelineScheduler Scheduler = Problem::Scheduler;
    static constexpr bool DoubleSmemBuffer           = Problem::DoubleSmemBuffer;
    static constexpr index_t NumWaveGroups           = Problem::NumWaveGroups;
    static constexpr index_t BlockSize               = Problem::kBlockSize + 64 * facts.load_waves;
    static constexpr index_t kBlockSize              = BlockSize;
    static constexpr index_t MPerBlock               = BlockGemmShape::kM;
    static constexpr index_t NPerBlock               = BlockGemmShape::kN;
    static constexpr index_t KPerBlock               = BlockGemmShape::kK;
    static constexpr index_t VectorSizeA             = Problem::VectorSizeA;
    static constexpr index_t VectorSizeB             = Problem::VectorSizeB;
    static constexpr bool kPadM                      = Problem::kPadM;
    static constexpr bool kPadN                      = Problem::kPadN;
    static constexpr bool kPadK                      = Problem::kPadK;

    static constexpr bool UsePersistentKernel = Problem::Traits::Persistent;

    // Elements per access to A and to B.
    static constexpr index_t GetVectorSizeA()
    {
        return vector_size<ADataType>(a_runs_along_k ? KPerBlock : MPerBlock,
                                      a_runs_along_k ? MPerBlock : KPerBlock,
                                      VectorSizeA,
                                      !a_runs_along_k,
                                      a_runs_along_k ? kPadK : kPadM);
    }
    static constexpr index_t GetVectorSizeB()
    {
        // The basic pipeline looks at the pad of the other axis.
        return vector_size<BDataType>(b_runs_along_k ? KPerBlock : NPerBlock,
                                      b_runs_along_k ? NPerBlock : KPerBlock,
                                      VectorSizeB,
                                      !b_runs_along_k,
                                      b_runs_along_k ? kPadN : kPadK);
    }

    // Local memory for the operand tiles, in bytes.
    static constexpr index_t GetSmemSize()
    {
        const auto tiles = MPerBlock * KPerBlock * static_cast<index_t>(sizeof(ADataType)) +
                           NPerBlock * KPerBlock * static_cast<index_t>(sizeof(BDataType));
        return DoubleSmemBuffer ? 2 * tiles : tiles;
    }

    static constexpr const char* GetPipelineName() { return facts.name; }

private:
    static constexpr bool a_runs_along_k = std::is_same_v<ALayout, tensor_layout::gemm::RowMajor>;
    static constexpr bool b_runs_along_k =
        std::is_same_v<BLayout, tensor_layout::gemm::ColumnMajor>;

    template <typename T>
    static constexpr index_t
    vector_size(index_t contiguous, index_t strided, index_t imposed, bool crosswise, bool padded)
    {
        constexpr auto bytes = static_cast<index_t>(sizeof(T));
        constexpr bool obeys = facts.basic || gemm_level::imposed_vectors;
        if(Problem::FixedVectorSize && obeys) { return imposed; }
        if(facts.basic)
        {
            return basic_vector_size(
                bytes, contiguous * strided, Problem::kBlockSize, crosswise, padded);
        }
        return native_vector_size(bytes, contiguous, strided, Problem::kBlockSize);
    }
};

} // namespace ck_tile::host_model
