// SPDX-License-Identifier: MIT
// Kernels of any direction and configuration, built from the same types as generated headers, and
// erased to a table of functions so that tests can loop over many of them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "ck_tile/core.hpp"
#include "ck_tile/host.hpp"
#include "ck_tile/ops/elementwise.hpp"
#include "ck_tile/ops/epilogue.hpp"
#include "ck_tile/ops/gemm.hpp"
#include "ck_tile/ops/gemm/kernel/streamk_gemm/streamk_gemm_tile_partitioner.hpp"
#include "ck_tile/ops/grouped_convolution.hpp"

namespace test {

using ck_tile::index_t;

struct triple
{ index_t m, n, k; };

struct kernel_config
{
    triple tile{64, 64, 32};
    triple waves{2, 2, 1};
    triple mma{16, 16, 16};
    triple vectors{1, 1, 1};
    index_t merged                                    = 1;
    bool split_image                                  = false;
    bool explicit_gemm                                = false;
    bool double_buffer                                = false;
    index_t wave_groups                               = 1;
    ck_tile::ConvolutionSpecialization specialization = ck_tile::ConvolutionSpecialization::Default;
    ck_tile::GemmPipelineScheduler scheduler          = ck_tile::GemmPipelineScheduler::Intrawave;
    ck_tile::GemmPipeline pipeline                    = ck_tile::GemmPipeline::COMPUTE_V3;
};

// Pipeline and the base that knows its loop tails.
template <ck_tile::GemmPipeline Name, typename Problem>
struct pipeline_of;

#define CKPROF_TEST_PIPELINE(NAME, CLASS, BASE)                                                    \
    template <typename Problem>                                                                    \
    struct pipeline_of<ck_tile::GemmPipeline::NAME, Problem>                                       \
    {                                                                                              \
        using type = ck_tile::CLASS<Problem>;                                                      \
        using base = ck_tile::BASE<Problem>;                                                       \
    }
CKPROF_TEST_PIPELINE(BASIC_V1, GemmPipelineAGmemBGmemCRegV1, BaseGemmPipelineAGmemBGmemCRegV1);
CKPROF_TEST_PIPELINE(BASIC_ASYNC_V1,
                     GemmPipelineAGmemBGmemCRegAsyncV1,
                     BaseGemmPipelineAGmemBGmemCRegV1);
CKPROF_TEST_PIPELINE(BASIC_V2, GemmPipelineAGmemBGmemCRegV2, BaseGemmPipelineAGmemBGmemCRegV2);
CKPROF_TEST_PIPELINE(MEMORY, GemmPipelineAgBgCrMem, BaseGemmPipelineAgBgCrMem);
CKPROF_TEST_PIPELINE(COMPUTE_V3, GemmPipelineAgBgCrCompV3, BaseGemmPipelineAgBgCrCompV3);
CKPROF_TEST_PIPELINE(COMPUTE_V4, GemmPipelineAgBgCrCompV4, BaseGemmPipelineAgBgCrCompV4);
CKPROF_TEST_PIPELINE(COMPUTE_V5, GemmPipelineAgBgCrCompV5, BaseGemmPipelineAgBgCrCompV5);
CKPROF_TEST_PIPELINE(COMPUTE_V6, GemmPipelineAgBgCrCompV6, BaseGemmPipelineAgBgCrCompV6);
CKPROF_TEST_PIPELINE(COMPUTE_ASYNC, GemmPipelineAgBgCrCompAsync, BaseGemmPipelineAgBgCrCompAsync);
CKPROF_TEST_PIPELINE(COMPUTE_TDM_V1, GemmPipelineAgBgCrCompTDMV1, BaseGemmPipelineAgBgCrCompTDM);
CKPROF_TEST_PIPELINE(COMPUTE_TDM_V2, GemmPipelineAgBgCrCompTDMV2, BaseGemmPipelineAgBgCrCompTDM);
CKPROF_TEST_PIPELINE(WAVELET, GemmPipelineAgBgCrWavelet, GemmPipelineAgBgCrWavelet);
#undef CKPROF_TEST_PIPELINE

template <index_t Dimensions>
struct layouts;
template <>
struct layouts<1>
{
    using in  = ck_tile::tensor_layout::convolution::NWGC;
    using wei = ck_tile::tensor_layout::convolution::GKXC;
    using out = ck_tile::tensor_layout::convolution::NWGK;
};
template <>
struct layouts<2>
{
    using in  = ck_tile::tensor_layout::convolution::NHWGC;
    using wei = ck_tile::tensor_layout::convolution::GKYXC;
    using out = ck_tile::tensor_layout::convolution::NHWGK;
};
template <>
struct layouts<3>
{
    using in  = ck_tile::tensor_layout::convolution::NDHWGC;
    using wei = ck_tile::tensor_layout::convolution::GKZYXC;
    using out = ck_tile::tensor_layout::convolution::NDHWGK;
};

using ck_tile::host_model::direction;

// The GEMM layouts that the traits name for a direction.
template <direction Direction, typename Traits>
struct gemm_layouts;
template <typename Traits>
struct gemm_layouts<direction::forward, Traits>
{
    using a = typename Traits::AsLayoutFwd;
    using b = typename Traits::BsLayoutFwd;
    using c = typename Traits::CLayoutFwd;
};
template <typename Traits>
struct gemm_layouts<direction::backward_data, Traits>
{
    using a = typename Traits::AsLayoutBwdData;
    using b = typename Traits::BsLayoutBwdData;
    using c = typename Traits::CLayoutBwdData;
};
template <typename Traits>
struct gemm_layouts<direction::backward_weight, Traits>
{
    using a = typename Traits::AsLayoutBwdWeight;
    using b = typename Traits::BsLayoutBwdWeight;
    using c = typename Traits::CLayoutBwdWeight;
};

// Result is T, or float for the first stage of two.
template <direction Direction,
          typename T,
          index_t Dimensions,
          kernel_config C,
          typename Layouts = layouts<Dimensions>,
          typename Result  = T>
struct family_types
{
    using shape       = ck_tile::TileGemmShape<ck_tile::sequence<C.tile.m, C.tile.n, C.tile.k>,
                                               ck_tile::sequence<C.waves.m, C.waves.n, C.waves.k>,
                                               ck_tile::sequence<C.mma.m, C.mma.n, C.mma.k>>;
    using conv_traits = ck_tile::GroupedConvTraits<Dimensions,
                                                   C.specialization,
                                                   typename Layouts::in,
                                                   typename Layouts::wei,
                                                   ck_tile::tuple<>,
                                                   typename Layouts::out,
                                                   C.vectors.m,
                                                   C.vectors.n,
                                                   C.vectors.k,
                                                   C.merged,
                                                   C.split_image,
                                                   C.explicit_gemm>;
    using fixed       = typename conv_traits::FixedGemmParams;
    using partitioner = ck_tile::GemmSpatiallyLocalTilePartitioner<shape,
                                                                   fixed::TilePartitionerGroupNum,
                                                                   fixed::TilePartitionerM01>;
    using gemm_traits =
        ck_tile::TileGemmUniversalTraits<fixed::kPadM,
                                         fixed::kPadN,
                                         fixed::kPadK,
                                         C.double_buffer,
                                         typename gemm_layouts<Direction, conv_traits>::a,
                                         typename gemm_layouts<Direction, conv_traits>::b,
                                         typename gemm_layouts<Direction, conv_traits>::c,
                                         fixed::TransposeC,
                                         fixed::UseStructuredSparsity,
                                         fixed::Persistent,
                                         C.wave_groups>;
    using pass_through = ck_tile::element_wise::PassThrough;
    using problem      = ck_tile::UniversalGemmPipelineProblem<T,
                                                               T,
                                                               float,
                                                               shape,
                                                               gemm_traits,
                                                               C.scheduler,
                                                               pass_through,
                                                               pass_through,
                                                               T,
                                                               T,
                                                               fixed::FixedVectorSize,
                                                               C.vectors.m,
                                                               C.vectors.n>;
    using pipeline     = typename pipeline_of<C.pipeline, problem>::type;
    using base         = typename pipeline_of<C.pipeline, problem>::base;
    using epilogue     = ck_tile::CShuffleEpilogue<
        ck_tile::CShuffleEpilogueProblem<T,
                                         T,
                                         ck_tile::tuple<>,
                                         float,
                                         Result,
                                         typename conv_traits::ImplicitGemmDsLayout,
                                         typename fixed::ELayout,
                                         pass_through,
                                         C.tile.m,
                                         C.tile.n,
                                         C.waves.m,
                                         C.waves.n,
                                         C.mma.m,
                                         C.mma.n,
                                         C.mma.k,
                                         fixed::TransposeC,
                                         C.wave_groups,
                                         fixed::FixedVectorSize,
                                         C.vectors.k,
                                         1,
                                         C.double_buffer>>;
};

template <typename T, index_t Dimensions, kernel_config C, typename Layouts = layouts<Dimensions>>
struct forward_family : family_types<direction::forward, T, Dimensions, C, Layouts>
{
    using types  = family_types<direction::forward, T, Dimensions, C, Layouts>;
    using kernel = ck_tile::GroupedConvolutionForwardKernel<typename types::conv_traits,
                                                            typename types::partitioner,
                                                            typename types::pipeline,
                                                            typename types::epilogue>;

    static float launch(const ck_tile::GroupedConvFwdHostArgs<>& args,
                        const ck_tile::stream_config& s)
    {
        const auto kargs = kernel::MakeKernelArgs(args);
        if(!kernel::IsSupportedArgument(kargs)) { throw std::runtime_error("unsupported"); }
        return ck_tile::launch_kernel(
            s,
            ck_tile::make_kernel<1>(
                kernel{}, kernel::GridSize(kargs), kernel::BlockSize(), 0, kargs));
    }

    static bool is_supported(const ck_tile::conv::ConvParam& param, index_t k_batch)
    {
        const ck_tile::GroupedConvFwdHostArgs<> args(param, nullptr, nullptr, {}, nullptr, k_batch);
        return kernel::IsSupportedArgument(kernel::MakeKernelArgs(args));
    }
};

struct forward_entry
{
    int dimensions;
    ck_tile::host_model::data_type type;
    float (*launch)(const ck_tile::GroupedConvFwdHostArgs<>&, const ck_tile::stream_config&);
    bool (*is_supported)(const ck_tile::conv::ConvParam&, index_t);
    std::string instance_string;
    const char* device = "gfx950";
};

template <typename T, index_t Dimensions, kernel_config C>
forward_entry make_entry()
{
    using family = forward_family<T, Dimensions, C>;
    return {Dimensions,
            ck_tile::host_model::data_type_of<T>::value,
            &family::launch,
            &family::is_supported,
            family::kernel::GetInstanceString()};
}

// Backward kernels: the launch zeroes the result when the direction needs it.
template <typename Kernel, typename HostArgs>
float launch_backward(const HostArgs& args,
                      void* result,
                      std::size_t bytes,
                      const ck_tile::stream_config& s)
{
    const auto kargs = Kernel::MakeKernelArgs(args);
    if(!Kernel::IsSupportedArgument(kargs)) { throw std::runtime_error("unsupported"); }
    return ck_tile::launch_kernel_time_mask(
        s,
        [&] { ck_tile::hip_check_error(hipMemsetAsync(result, 0, bytes, s.stream_id_)); },
        ck_tile::make_kernel<1>(Kernel{}, Kernel::GridSize(kargs), Kernel::BlockSize(), 0, kargs));
}

template <typename T, index_t Dimensions, kernel_config C>
struct backward_data_family : family_types<direction::backward_data, T, Dimensions, C>
{
    using types  = family_types<direction::backward_data, T, Dimensions, C>;
    using kernel = ck_tile::GroupedConvolutionBackwardDataKernel<typename types::conv_traits,
                                                                 typename types::partitioner,
                                                                 typename types::pipeline,
                                                                 typename types::epilogue>;

    static bool is_supported(const ck_tile::conv::ConvParam& param, index_t k_batch)
    {
        return kernel::IsSupportedArgument(
            kernel::MakeKernelArgs({param, nullptr, nullptr, {}, nullptr, k_batch}));
    }
    static float
    launch(const ck_tile::conv::ConvParam& param, void* in, void* wei, void* out, index_t k_batch)
    {
        const ck_tile::GroupedConvBwdDataHostArgs args(param, in, wei, {}, out, k_batch);
        return launch_backward<kernel>(args, in, param.GetInputByte<T>(), ck_tile::stream_config{});
    }
};

template <typename T, index_t Dimensions, kernel_config C, typename Result = T>
struct backward_weight_family
    : family_types<direction::backward_weight, T, Dimensions, C, layouts<Dimensions>, Result>
{
    using types =
        family_types<direction::backward_weight, T, Dimensions, C, layouts<Dimensions>, Result>;
    using kernel = ck_tile::GroupedConvolutionBackwardWeightKernel<typename types::conv_traits,
                                                                   typename types::partitioner,
                                                                   typename types::pipeline,
                                                                   typename types::epilogue>;

    static bool is_supported(const ck_tile::conv::ConvParam& param, index_t k_batch)
    {
        return kernel::IsSupportedArgument(
            kernel::MakeKernelArgs({param, nullptr, nullptr, {}, nullptr, k_batch}));
    }
    static float
    launch(const ck_tile::conv::ConvParam& param, void* in, void* wei, void* out, index_t k_batch)
    {
        const ck_tile::GroupedConvBwdWeightHostArgs args(param, in, wei, {}, out, k_batch);
        return launch_backward<kernel>(
            args, wei, k_batch > 1 ? param.GetWeightByte<Result>() : 0, ck_tile::stream_config{});
    }
};

// Stage 1 sums into a float workspace, stage 2 converts it.
template <typename T, index_t Dimensions, kernel_config C>
struct two_stage_family : backward_weight_family<T, Dimensions, C, float>
{
    using shape   = ck_tile::ElementWiseShape<ck_tile::sequence<8>,
                                              ck_tile::sequence<2048>,
                                              ck_tile::sequence<64>,
                                              float>;
    using problem = ck_tile::
        ElementWisePipelineProblem<float, float, T, shape, ck_tile::element_wise::UnaryConvert>;
    using convert = ck_tile::ElementWiseKernel<problem, ck_tile::ElementWiseDefaultPolicy>;
    using kernel  = typename backward_weight_family<T, Dimensions, C, float>::kernel;

    static float
    launch(const ck_tile::conv::ConvParam& param, void* in, void* wei, void* out, index_t k_batch)
    {
        const auto count = param.GetWeightByte<float>() / sizeof(float);
        ck_tile::DeviceMem workspace(count * sizeof(float));
        workspace.SetValue(0.25f);
        ck_tile::GroupedConvBwdWeightHostArgs args(param, in, wei, {}, out, k_batch);
        args.wei_ptr     = workspace.GetDeviceBuffer();
        const auto kargs = kernel::MakeKernelArgs(args);
        if(!kernel::IsSupportedArgument(kargs)) { throw std::runtime_error("unsupported"); }
        const auto rows    = static_cast<index_t>(param.G_ * param.K_);
        const auto columns = static_cast<index_t>(count) / rows;
        const auto lengths = ck_tile::make_tuple(rows, columns);
        const auto strides = ck_tile::make_tuple(columns, index_t{1});
        const dim3 grid(static_cast<unsigned>((count + 2047) / 2048));
        if(!convert::IsSupportedArgument(lengths)) { throw std::runtime_error("unsupported"); }
        return ck_tile::launch_kernel_time_mask(
            ck_tile::stream_config{},
            [&] {
                if(k_batch > 1) { workspace.SetZero(); }
            },
            ck_tile::make_kernel<1>(
                kernel{}, kernel::GridSize(kargs), kernel::BlockSize(), 0, kargs),
            ck_tile::make_kernel<1>(
                convert{},
                grid,
                convert::BlockSize(),
                0,
                lengths,
                strides,
                strides,
                ck_tile::make_tuple(static_cast<const float*>(workspace.GetDeviceBuffer())),
                static_cast<T*>(wei)));
    }
};

// Stream-K; launch takes the number of workgroups as k_batch.
template <typename T,
          index_t Dimensions,
          kernel_config C,
          ck_tile::StreamKReductionStrategy Strategy,
          bool Persistent>
struct stream_k_family : family_types<direction::backward_weight, T, Dimensions, C>
{
    using types  = family_types<direction::backward_weight, T, Dimensions, C>;
    using kernel = ck_tile::GroupedConvolutionBackwardWeightKernel<
        typename types::conv_traits,
        ck_tile::StreamKTilePartitioner<typename types::shape, Strategy, Persistent>,
        typename types::pipeline,
        typename types::epilogue>;

    static bool is_supported(const ck_tile::conv::ConvParam& param, index_t)
    {
        return kernel::IsSupportedArgument(
            kernel::MakeKernelArgs({param, nullptr, nullptr, {}, nullptr, 1}));
    }
    static float launch(
        const ck_tile::conv::ConvParam& param, void* in, void* wei, void* out, index_t workgroups)
    {
        auto kargs = kernel::MakeKernelArgs({param, in, wei, {}, out, 1}, workgroups, 1);
        if(!kernel::IsSupportedArgument(kargs)) { throw std::runtime_error("unsupported"); }
        ck_tile::DeviceMem workspace(kernel::GetWorkSpaceSize(kargs));
        kernel::SetWorkSpacePointer(kargs, workspace.GetDeviceBuffer());
        return ck_tile::launch_kernel_time_mask(
            ck_tile::stream_config{},
            [&] { workspace.SetZero(); },
            ck_tile::make_kernel<1>(
                kernel{}, kernel::GridSize(kargs), kernel::BlockSize(), 0, kargs));
    }
};

} // namespace test
