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
          typename OutElementOp,
          typename ComputeA,
          typename ComputeB>
bool profile_grouped_conv_fwd_outelementop_impl(
    int verify, int init, bool log, bool time, const utils::conv::ConvParam& param)
{
    using tensor_operation::element_wise::ConvScale;
    ckprof_test::print_kind<NDimSpatial,
                            std::tuple<In, Wei, Out>,
                            std::tuple<InType, WeiType, OutType>,
                            std::tuple<ComputeA, ComputeB>>();
    constexpr bool scales = std::is_same_v<OutElementOp, ConvScale>;
    return ckprof_test::print_rest(
        {verify, init, log, time}, param, scales ? "ConvScale" : "ConvInvScale");
}

} // namespace ck::profiler
