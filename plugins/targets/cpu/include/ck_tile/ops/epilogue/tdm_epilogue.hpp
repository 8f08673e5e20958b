// SPDX-License-Identifier: MIT
// The epilogue that leaves storing a tile to the tensor data mover.
#pragma once

#include "ck_tile/ops/epilogue/cshuffle_epilogue.hpp"

namespace ck_tile {

// The mover stores what it is given: results are neither added to what is there nor combined with
// D tensors. Nothing else of the arithmetic differs from the other epilogue.
template <typename Problem_>
struct TdmEpilogue : CShuffleEpilogue<Problem_>
{
    static_assert(Problem_::DsDataType::size() == 0, "the mover combines nothing with D tensors");

    static constexpr const char* name = "TdmEpilogue";
};

} // namespace ck_tile
