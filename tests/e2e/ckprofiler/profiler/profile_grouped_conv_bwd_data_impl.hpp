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
    ckprof_test::print_kind<NDimSpatial,
                            std::tuple<In, Wei, Out>,
                            std::tuple<InType, WeiType, OutType>,
                            std::tuple<Compute, Compute>>();
    return ckprof_test::print_rest({verify, init, log, time}, param, "", std::to_string(split_k));
}

} // namespace ck::profiler
