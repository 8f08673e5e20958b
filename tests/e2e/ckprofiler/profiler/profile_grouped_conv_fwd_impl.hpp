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
          typename ComputeB,
          typename Index,
          typename OutElementOp = tensor_operation::element_wise::PassThrough>
bool profile_grouped_conv_fwd_impl(
    int verify, int init, bool log, bool time, const utils::conv::ConvParam& param)
{
    ckprof_test::print_kind<NDimSpatial,
                            std::tuple<In, Wei, Out>,
                            std::tuple<InType, WeiType, OutType>,
                            std::tuple<ComputeA, ComputeB>>();
    constexpr bool clamps = std::is_same_v<OutElementOp, tensor_operation::element_wise::Clamp>;
    return ckprof_test::print_rest(
        {verify, init, log, time}, param, clamps ? "Clamp" : "", "", sizeof(Index));
}

} // namespace ck::profiler
