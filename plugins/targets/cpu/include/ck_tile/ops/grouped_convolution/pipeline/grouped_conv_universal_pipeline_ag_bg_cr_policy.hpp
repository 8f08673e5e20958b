// SPDX-License-Identifier: MIT
#pragma once

namespace ck_tile {

// On a GPU this policy lays out local memory for convolution operands; the host model packs its
// panels in one way only, so the type is a mere name.
struct GroupedConvUniversalPipelineAgBgCrPolicy
{};

} // namespace ck_tile
