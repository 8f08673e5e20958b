// SPDX-License-Identifier: MIT
#pragma once

#include "ck_tile/core/numeric/integer.hpp"

namespace ck_tile {

// Of the basic pipeline, which leaves nothing else to choose.
template <bool kPadM_,
          bool kPadN_,
          bool kPadK_,
          typename AsLayout_,
          typename BsLayout_,
          typename CLayout_,
          index_t NumWaveGroups_ = 1>
struct TileGemmTraits
{
    using AsLayout = AsLayout_;
    using BsLayout = BsLayout_;
    using ALayout  = AsLayout_;
    using BLayout  = BsLayout_;
    using CLayout  = CLayout_;

    static constexpr bool kPadM                 = kPadM_;
    static constexpr bool kPadN                 = kPadN_;
    static constexpr bool kPadK                 = kPadK_;
    static constexpr bool DoubleSmemBuffer      = false;
    static constexpr bool TransposeC            = false;
    static constexpr bool UseStructuredSparsity = false;
    static constexpr bool Persistent            = false;
    static constexpr index_t NumWaveGroups      = NumWaveGroups_;
    static constexpr bool Preshuffle            = false;
};

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
          bool Preshuffle_            = false,
          int VectorSize_             = 16,
          bool LargeTensors_          = false>
struct TileGemmUniversalTraits
{
    using AsLayout = AsLayout_;
    using BsLayout = BsLayout_;
    using ALayout  = AsLayout_;
    using BLayout  = BsLayout_;
    using CLayout  = CLayout_;

    static constexpr bool kPadM                 = kPadM_;
    static constexpr bool kPadN                 = kPadN_;
    static constexpr bool kPadK                 = kPadK_;
    static constexpr bool DoubleSmemBuffer      = DoubleSmemBuffer_;
    static constexpr bool TransposeC            = TransposeC_;
    static constexpr bool UseStructuredSparsity = UseStructuredSparsity_;
    static constexpr bool Persistent            = Persistent_;
    static constexpr bool UsePersistentKernel   = Persistent_;
    static constexpr index_t NumWaveGroups      = NumWaveGroups_;
    static constexpr bool Preshuffle            = Preshuffle_;
    static constexpr int VectorSize             = VectorSize_;
    static constexpr bool LargeTensors          = LargeTensors_;
};

} // namespace ck_tile
