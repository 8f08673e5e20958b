// SPDX-License-Identifier: MIT
// The epilogue that converts and stores, with the way of storing as a template argument.
#pragma once

#include <type_traits>

#include "ck_tile/core/container/tuple.hpp"
#include "ck_tile/core/numeric/integer.hpp"
#include "ck_tile/ops/elementwise/unary_element_wise_operation.hpp"

namespace ck_tile {

enum struct memory_operation_enum
{
    set,
    atomic_add
};

template <typename ADataType_,
          typename BDataType_,
          typename DsDataType_,
          typename AccDataType_,
          typename ODataType_,
          typename DsLayout_,
          typename ELayout_,
          typename CDElementwise_,
          index_t kBlockSize_,
          index_t kM_,
          index_t kN_,
          index_t MWave_,
          index_t NWave_,
          index_t MPerXdl_,
          index_t NPerXdl_,
          index_t KPerXdl_,
          bool isCTransposed_,
          memory_operation_enum MemoryOperation_,
          index_t kNumWaveGroups_ = 1,
          bool FixedVectorSize_   = false,
          index_t VectorSizeC_    = 1>
struct CShuffleEpilogueProblem
{
    using ODataType     = ODataType_;
    using CDElementwise = CDElementwise_;

    static_assert(std::is_same_v<AccDataType_, float>, "accumulators are float");
    static_assert(DsDataType_::size() == 0, "additional D tensors are not modelled");
    static_assert(std::is_same_v<CDElementwise, element_wise::PassThrough>,
                  "only PassThrough is modelled");
    static_assert(FixedVectorSize_, "only given vector sizes are modelled");

    static constexpr index_t VectorSizeC                   = VectorSizeC_;
    static constexpr memory_operation_enum MemoryOperation = MemoryOperation_;
};

template <typename Problem_>
struct CShuffleEpilogue
{
    using Problem       = Problem_;
    using ODataType     = typename Problem::ODataType;
    using CDElementwise = typename Problem::CDElementwise;

    static constexpr memory_operation_enum MemoryOperation = Problem::MemoryOperation;

    static constexpr index_t GetVectorSizeC() { return Problem::VectorSizeC; }
};

} // namespace ck_tile
