// SPDX-License-Identifier: MIT
#include "profiler/calls.hpp"

namespace ck::profiler {

template <index_t NDimSpatial,
          typename In,
          typename Wei,
          typename Out,
          typename InType,
          typename WeiType,
          typename OutType,
          typename ComputeA,
          typename ComputeB>
bool profile_grouped_conv_fwd_bias_clamp_impl(
    int verify, int init, bool log, bool time, const utils::conv::ConvParam& param)
{
    ckprof_test::print_kind<NDimSpatial,
                            std::tuple<In, Wei, Out>,
                            std::tuple<InType, WeiType, OutType>,
                            std::tuple<ComputeA, ComputeB>>();
    return ckprof_test::print_rest({verify, init, log, time}, param, "AddClamp");
}

} // namespace ck::profiler
