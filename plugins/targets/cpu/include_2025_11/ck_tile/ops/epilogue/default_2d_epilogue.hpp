// SPDX-License-Identifier: MIT
// The epilogue that stores accumulators directly, with the way of storing as a template argument.
#pragma once

#include <type_traits>

#include "ck_tile/core/container/tuple.hpp"
#include "ck_tile/core/numeric/integer.hpp"
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
          typename CLayout_,
          typename CDElementwise_,
          index_t kM_,
          index_t kN_,
          bool kPadM_,
          bool kPadN_,
          index_t kMPerXdl_,
          index_t kNPerXdl_,
          index_t kKPerXdl_,
          bool isCTransposed_,
          bool UseRawStore_                      = true,
          memory_operation_enum MemoryOperation_ = memory_operation_enum::set>
struct DefaultGemm2DEpilogueProblem
{
    using ADataType     = ADataType_;
    using BDataType     = BDataType_;
    using DsDataType    = DsDataType_;
    using AccDataType   = AccDataType_;
    using ODataType     = ODataType_;
    using DsLayout      = DsLayout_;
    using CLayout       = CLayout_;
    using CDElementwise = CDElementwise_;

    static constexpr index_t kMPerBlock = kM_;
    static constexpr index_t kNPerBlock = kN_;
    static constexpr bool kPadM         = kPadM_;
    static constexpr bool kPadN         = kPadN_;
    static constexpr index_t kMPerXdl   = kMPerXdl_;
    static constexpr index_t kNPerXdl   = kNPerXdl_;
    static constexpr index_t kKPerXdl   = kKPerXdl_;
    static constexpr bool isCTransposed = isCTransposed_;
    static constexpr bool UseRawStore   = UseRawStore_;

    static constexpr memory_operation_enum MemoryOperation = MemoryOperation_;
};

// Stores each thread's share of the accumulators as the matrix instruction leaves it, without a
// detour through local memory: single elements along a row, four along a column.
template <typename Problem_, typename Policy_ = void>
struct DefaultGemm2DEpilogue
{
    using Problem       = Problem_;
    using AccDataType   = typename Problem::AccDataType;
    using ODataType     = typename Problem::ODataType;
    using DsDataType    = typename Problem::DsDataType;
    using DsLayout      = typename Problem::DsLayout;
    using ELayout       = typename Problem::CLayout;
    using CDElementwise = typename Problem::CDElementwise;

    static constexpr const char* name = "DefaultGemm2DEpilogue";

    static constexpr memory_operation_enum MemoryOperation = Problem::MemoryOperation;

    static constexpr index_t GetVectorSizeC()
    {
        constexpr bool row_major = std::is_same_v<ELayout, tensor_layout::gemm::RowMajor>;
        return row_major == Problem::isCTransposed ? 4 : 1;
    }

    template <typename Index>
    static constexpr index_t GetVectorSizeD(Index)
    { return 1; }
};

} // namespace ck_tile
