// SPDX-License-Identifier: MIT
#pragma once

#include "ck_tile/core/numeric/integer.hpp"

namespace ck_tile {

template <bool kPadM_,
          bool kPadN_,
          bool kPadK_,
          bool DoubleSmemBuffer_,
          typename AsLayout_,
          typename BsLayout_,
          typename CLayout_,
          bool TransposeC_            = false,
          bool UseStructuredSparsity_ = false,
          bool Persistent_            = false,
          index_t NumWaveGroups_      = 1,
          bool Preshuffle_            = false>
struct TileGemmUniversalTraits
{
    using AsLayout = AsLayout_;
    using BsLayout = BsLayout_;
    using CLayout  = CLayout_;

    static constexpr bool kPadM                 = kPadM_;
    static constexpr bool kPadN                 = kPadN_;
    static constexpr bool kPadK                 = kPadK_;
    static constexpr bool DoubleSmemBuffer      = DoubleSmemBuffer_;
    static constexpr bool TransposeC            = TransposeC_;
    static constexpr bool UseStructuredSparsity = UseStructuredSparsity_;
    static constexpr bool Persistent            = Persistent_;
    static constexpr index_t NumWaveGroups      = NumWaveGroups_;
    static constexpr bool Preshuffle            = Preshuffle_;
};

} // namespace ck_tile
