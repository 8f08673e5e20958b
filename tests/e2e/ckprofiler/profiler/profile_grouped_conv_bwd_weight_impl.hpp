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
bool profile_grouped_conv_bwd_weight_impl(int verify,
                                          int init,
                                          bool log,
                                          bool time,
                                          const utils::conv::ConvParam& param,
                                          const std::string& split_k)
{
    std::cout << "{\"ndim\": " << NDimSpatial << ", ";
    ckprof_test::print_layouts<In, Wei, Out>();
    ckprof_test::print_types<InType, WeiType, OutType>("types");
    ckprof_test::print_types<ComputeA, ComputeB>("compute");
    return ckprof_test::print_rest({verify, init, log, time}, param, "", split_k);
}

} // namespace ck::profiler
