// SPDX-License-Identifier: MIT
// Depthwise kernels of one type, tile, filter and stride.
#pragma once

#include "kernel_family.hpp"

namespace test {

template <typename T,
          index_t TileH,
          index_t TileW,
          index_t F,
          index_t S,
          index_t Batch,
          index_t SubH,
          index_t SubW,
          index_t In,
          index_t Out>
struct depthwise_family
{
    using traits = ck_tile::DepthwiseConvFwdTraits<T,
                                                   T,
                                                   float,
                                                   T,
                                                   64,
                                                   TileH,
                                                   TileW,
                                                   F,
                                                   F,
                                                   S,
                                                   S,
                                                   1,
                                                   1,
                                                   (F - 1) / 2,
                                                   (F - 1) / 2,
                                                   Batch,
                                                   SubH,
                                                   SubW,
                                                   In,
                                                   Out>;
    using conv   = ck_tile::GroupedConvTraits<2,
                                              ck_tile::ConvolutionSpecialization::Default,
                                              void,
                                              void,
                                              ck_tile::tuple<>,
                                              void,
                                              In,
                                              In,
                                              Out,
                                              1,
                                              false,
                                              false,
                                              traits>;
    struct epilogue
    { using ODataType = T; };
    using kernel =
        ck_tile::GroupedConvolutionForwardKernel<conv,
                                                 void,
                                                 ck_tile::DepthwiseConvFwdPipeline<traits>,
                                                 epilogue>;

    static bool supported(const ck_tile::conv::ConvParam& p)
    {
        return kernel::IsSupportedArgument(kernel::MakeKernelArgs(
            ck_tile::GroupedConvFwdHostArgs<>(p, nullptr, nullptr, {}, nullptr, 1)));
    }
};

} // namespace test
