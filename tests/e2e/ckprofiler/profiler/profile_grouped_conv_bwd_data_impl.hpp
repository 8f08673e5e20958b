// SPDX-License-Identifier: MIT
#include "profiler/calls.hpp"

namespace ck::profiler {

template <index_t NDimSpatial,
          typename Out,
          typename Wei,
          typename In,
          typename OutType,
          typename WeiType,
          typename InType,
          typename Compute>
bool profile_grouped_conv_bwd_data_impl(
    int verify, int init, bool log, bool time, const utils::conv::ConvParam& param, index_t split_k)
{
    std::cout << "{\"ndim\": " << NDimSpatial << ", ";
    ckprof_test::print_layouts<In, Wei, Out>();
    ckprof_test::print_types<InType, WeiType, OutType>("types");
    ckprof_test::print_types<Compute, Compute>("compute");
    return ckprof_test::print_rest(
        {verify, init, log, time}, param, "", std::to_string(split_k));
}

} // namespace ck::profiler
