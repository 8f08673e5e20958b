// SPDX-License-Identifier: MIT
// The epilogue that converts and stores, with the way of storing as a template argument.
#pragma once

#include <type_traits>

#include "ck_tile/core/container/tuple.hpp"
#include "ck_tile/core/numeric/integer.hpp"
#include "ck_tile/host_model/vector_size.hpp"
#include "ck_tile/ops/common/tensor_layout.hpp"
#include "ck_tile/ops/elementwise/unary_element_wise_operation.hpp"
#include "ck_tile/ops/epilogue/memory_operation.hpp"

namespace ck_tile {

template <typename ADataType_,
          typename BDataType_,
          typename DsDataType_,
          typename AccDataType_,
          typename ODataType_,
          typename DsLayout_,
          typename ELayout_,
          typename CDElementwise_,
          index_t kM_,
          index_t kN_,
          index_t MWave_,
          index_t NWave_,
          index_t MPerXdl_,
          index_t NPerXdl_,
          index_t KPerXdl_,
          bool isCTransposed_,
          memory_operation_enum MemoryOperation_,
          index_t kNumWaveGroups_      = 1,
          bool FixedVectorSize_        = false,
          index_t VectorSizeC_         = 1,
          bool TiledMMAPermuteN_       = false,
          index_t BlockedXDLN_PerWarp_ = 1>
struct CShuffleEpilogueProblem
{
    using DsDataType    = DsDataType_;
    using AccDataType   = AccDataType_;
    using ODataType     = ODataType_;
    using DsLayout      = DsLayout_;
    using ELayout       = ELayout_;
    using CDElementwise = CDElementwise_;

    static_assert(std::is_same_v<AccDataType, float> || std::is_same_v<AccDataType, int32_t>,
                  "accumulators are float or int32_t");
    static_assert(std::is_same_v<ELayout, tensor_layout::gemm::RowMajor>,
                  "the result is row-major");

    static constexpr index_t NWave                         = NWave_;
    static constexpr index_t NPerXdl                       = NPerXdl_;
    static constexpr bool FixedVectorSize                  = FixedVectorSize_;
    static constexpr index_t VectorSizeC                   = VectorSizeC_;
    static constexpr memory_operation_enum MemoryOperation = MemoryOperation_;
};

template <typename Problem_, typename Policy_ = void>
struct CShuffleEpilogue
{
    using Problem       = Problem_;
    using DsDataType    = typename Problem::DsDataType;
    using AccDataType   = typename Problem::AccDataType;
    using ODataType     = typename Problem::ODataType;
    using DsLayout      = typename Problem::DsLayout;
    using ELayout       = typename Problem::ELayout;
    using CDElementwise = typename Problem::CDElementwise;

    static constexpr const char* name = "CShuffleEpilogue";

    static constexpr memory_operation_enum MemoryOperation = Problem::MemoryOperation;

    static constexpr index_t GetVectorSizeC()
    {
        return Problem::FixedVectorSize ? Problem::VectorSizeC
                                        : host_model::row_vector_size(
                                              sizeof(ODataType), Problem::NPerXdl * Problem::NWave);
    }

    // Of the D tensor with that number, given as a constant.
    template <typename Index>
    static constexpr index_t GetVectorSizeD(Index)
    {
        using type = std::tuple_element_t<Index::value, typename DsDataType::base>;
        return host_model::row_vector_size(sizeof(type), Problem::NPerXdl * Problem::NWave);
    }
};

} // namespace ck_tile
