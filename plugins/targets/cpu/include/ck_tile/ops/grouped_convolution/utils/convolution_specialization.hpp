// SPDX-License-Identifier: MIT
// Promises about a problem that let a kernel shorten its address arithmetic.
#pragma once

namespace ck_tile {

enum class ConvolutionSpecialization
{
    Default,
    Filter1x1Pad0,
    Filter1x1Stride1Pad0,
    Filter3x3,
    Filter5x5
};

constexpr const char* getConvSpecializationString(ConvolutionSpecialization specialization)
{
    switch(specialization)
    {
    case ConvolutionSpecialization::Default: return "Default";
    case ConvolutionSpecialization::Filter1x1Pad0: return "Filter1x1Pad0";
    case ConvolutionSpecialization::Filter1x1Stride1Pad0: return "Filter1x1Stride1Pad0";
    case ConvolutionSpecialization::Filter3x3: return "Filter3x3";
    case ConvolutionSpecialization::Filter5x5: return "Filter5x5";
    }
    return "Unrecognized specialization";
}

} // namespace ck_tile
