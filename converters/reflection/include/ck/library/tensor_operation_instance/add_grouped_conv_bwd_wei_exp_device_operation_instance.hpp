// SPDX-License-Identifier: MIT
//
// Stands in front of the library's header of this name: its function makes a convolution of each
// GEMM of a tuple, and these are printed instead.
#ifndef CKPROF_REFLECT_ADD_EXPLICIT_GEMM_HPP
#define CKPROF_REFLECT_ADD_EXPLICIT_GEMM_HPP

#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_weight_explicit_xdl.hpp"
#include "ckprof_reflect.hpp"

namespace ckprof {

// What the function that it is named for is called with, but for the instances that it would add.
struct ExplicitGemms
{
    const char* function;

    template <ck::index_t NDimSpatial,
              typename InLayout,
              typename WeiLayout,
              typename OutLayout,
              typename InDataType,
              typename WeiDataType,
              typename OutDataType,
              typename InElementwiseOperation,
              typename WeiElementwiseOperation,
              typename OutElementwiseOperation,
              typename Gemms>
    void print(const auto& /* instances */) const
    {
        [this]<typename... Gemm>(std::type_identity<std::tuple<Gemm...>>) {
            using namespace ck::tensor_operation::device;
            Printer<std::tuple<DeviceGroupedConvBwdWeight_Explicit_Xdl<NDimSpatial,
                                                                       InLayout,
                                                                       WeiLayout,
                                                                       OutLayout,
                                                                       InDataType,
                                                                       WeiDataType,
                                                                       OutDataType,
                                                                       InElementwiseOperation,
                                                                       WeiElementwiseOperation,
                                                                       OutElementwiseOperation,
                                                                       Gemm>...>>::print(function);
        }(std::type_identity<Gemms>{});
    }
};

} // namespace ckprof

#define add_explicit_gemm_device_operation_instances ::ckprof::ExplicitGemms{__func__}.print

#endif
