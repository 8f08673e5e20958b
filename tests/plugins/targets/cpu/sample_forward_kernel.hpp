// SPDX-License-Identifier: MIT
// Kernel:
// grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4
// Variant: forward
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>

#include "ck_tile/core.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/ops/epilogue.hpp"
#include "ck_tile/ops/gemm.hpp"
#include "ck_tile/ops/grouped_convolution.hpp"
#include "ck_tile/ops/grouped_convolution/kernel/grouped_convolution_forward_kernel.hpp"
#include "ck_tile/ops/grouped_convolution/pipeline/grouped_conv_universal_pipeline_ag_bg_cr_policy.hpp"

using namespace ck_tile;

struct
    grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4_Config
{
    using InDataType  = bf16_t;
    using WeiDataType = bf16_t;
    using AccDataType = float;
    using OutDataType = bf16_t;

    using InLayout  = tensor_layout::convolution::NHWGC;
    using WeiLayout = tensor_layout::convolution::GKYXC;
    using OutLayout = tensor_layout::convolution::NHWGK;

    static constexpr index_t M_Tile = 128;
    static constexpr index_t N_Tile = 128;
    static constexpr index_t K_Tile = 32;

    static constexpr index_t M_Warp = 4;
    static constexpr index_t N_Warp = 1;
    static constexpr index_t K_Warp = 1;

    static constexpr index_t M_Warp_Tile = 16;
    static constexpr index_t N_Warp_Tile = 16;
    static constexpr index_t K_Warp_Tile = 16;

    static constexpr index_t VectorSizeA = 4;
    static constexpr index_t VectorSizeB = 4;
    static constexpr index_t VectorSizeC = 4;

    static constexpr bool kPadM = true;
    static constexpr bool kPadN = true;
    static constexpr bool kPadK = true;

    static constexpr GemmPipeline Pipeline           = GemmPipeline::COMPUTE_V3;
    static constexpr GemmPipelineScheduler Scheduler = GemmPipelineScheduler::Intrawave;
    static constexpr bool DoubleSmemBuffer           = false;
    static constexpr bool UseCShuffleEpilogue        = true;
    static constexpr int kBlockPerCu                 = 2;
    static constexpr index_t NumWaveGroups           = 1;
    static constexpr index_t NumGroupsToMerge        = 1;
    static constexpr bool EnableSplitImage           = false;
    static constexpr bool ExplicitGemm               = false;
    static constexpr index_t NDimSpatial             = 2;
    static constexpr const char* TargetArch          = "gfx950";
};

namespace ns_grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4 {

using Config =
    grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4_Config;

constexpr const char* CONV_FWD_KERNEL_NAME =
    "grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4";

using SelectedConvFwdKernel = Config;

struct
    grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4_Launcher
{
    using KernelConfig = Config;
    using InDataType   = Config::InDataType;
    using WeiDataType  = Config::WeiDataType;
    using AccDataType  = Config::AccDataType;
    using OutDataType  = Config::OutDataType;

    static constexpr index_t NDimSpatial = Config::NDimSpatial;

    static constexpr auto ConvSpec = ConvolutionSpecialization::Default;

    using GemmShape =
        TileGemmShape<sequence<Config::M_Tile, Config::N_Tile, Config::K_Tile>,
                      sequence<Config::M_Warp, Config::N_Warp, Config::K_Warp>,
                      sequence<Config::M_Warp_Tile, Config::N_Warp_Tile, Config::K_Warp_Tile>>;

    using GroupedConvTraitsType = GroupedConvTraits<NDimSpatial,
                                                    ConvSpec,
                                                    Config::InLayout,
                                                    Config::WeiLayout,
                                                    tuple<>,
                                                    Config::OutLayout,
                                                    Config::VectorSizeA,
                                                    Config::VectorSizeB,
                                                    Config::VectorSizeC,
                                                    Config::NumGroupsToMerge,
                                                    Config::EnableSplitImage,
                                                    Config::ExplicitGemm>;

    using FixedParams = GroupedConvTraitsType::FixedGemmParams;

    using TilePartitioner = GemmSpatiallyLocalTilePartitioner<GemmShape,
                                                              FixedParams::TilePartitionerGroupNum,
                                                              FixedParams::TilePartitionerM01>;

    using GemmUniversalTraits = TileGemmUniversalTraits<FixedParams::kPadM,
                                                        FixedParams::kPadN,
                                                        FixedParams::kPadK,
                                                        Config::DoubleSmemBuffer,
                                                        GroupedConvTraitsType::AsLayoutFwd,
                                                        GroupedConvTraitsType::BsLayoutFwd,
                                                        GroupedConvTraitsType::CLayoutFwd,
                                                        FixedParams::TransposeC,
                                                        FixedParams::UseStructuredSparsity,
                                                        FixedParams::Persistent,
                                                        Config::NumWaveGroups>;

    using TailProblem = GemmPipelineProblem<
        InDataType,
        WeiDataType,
        AccDataType,
        GemmShape,
        GroupedConvTraitsType::template GroupedConvImplicitGemmTraitsFwd<Config::NumWaveGroups>,
        InDataType,
        WeiDataType,
        element_wise::PassThrough,
        element_wise::PassThrough,
        FixedParams::FixedVectorSize,
        Config::VectorSizeA,
        Config::VectorSizeB>;

    using BaseGemmPipeline = BaseGemmPipelineAgBgCrCompV3<TailProblem>;

    using UniversalGemmProblem = UniversalGemmPipelineProblem<InDataType,
                                                              WeiDataType,
                                                              AccDataType,
                                                              GemmShape,
                                                              GemmUniversalTraits,
                                                              Config::Scheduler,
                                                              element_wise::PassThrough,
                                                              element_wise::PassThrough,
                                                              InDataType,
                                                              WeiDataType,
                                                              FixedParams::FixedVectorSize,
                                                              Config::VectorSizeA,
                                                              Config::VectorSizeB>;

    using ConvPipeline =
        GemmPipelineAgBgCrCompV3<UniversalGemmProblem, GroupedConvUniversalPipelineAgBgCrPolicy>;

    using ConvEpilogue =
        CShuffleEpilogue<CShuffleEpilogueProblem<InDataType,
                                                 WeiDataType,
                                                 tuple<>,
                                                 AccDataType,
                                                 OutDataType,
                                                 GroupedConvTraitsType::ImplicitGemmDsLayout,
                                                 FixedParams::ELayout,
                                                 element_wise::PassThrough,
                                                 TilePartitioner::MPerBlock,
                                                 TilePartitioner::NPerBlock,
                                                 Config::M_Warp,
                                                 Config::N_Warp,
                                                 Config::M_Warp_Tile,
                                                 Config::N_Warp_Tile,
                                                 Config::K_Warp_Tile,
                                                 FixedParams::TransposeC,
                                                 Config::NumWaveGroups,
                                                 FixedParams::FixedVectorSize,
                                                 Config::VectorSizeC,
                                                 1,
                                                 Config::DoubleSmemBuffer>>;

    using Kernel = GroupedConvolutionForwardKernel<GroupedConvTraitsType,
                                                   TilePartitioner,
                                                   ConvPipeline,
                                                   ConvEpilogue>;

    // Runs the kernel once, or times it as the stream configuration asks; returns milliseconds
    // (0 when timing is off). Throws std::runtime_error for an unsupported problem.
    static float launch(const GroupedConvFwdHostArgs<>& args, const stream_config& s)
    {
        const auto kargs = Kernel::MakeKernelArgs(args);
        if(!Kernel::IsSupportedArgument(kargs))
        {
            throw std::runtime_error("unsupported arguments for " +
                                     std::string(CONV_FWD_KERNEL_NAME));
        }

        const auto gemm_k         = std::accumulate(args.filter_spatial_lengths_.begin(),
                                                    args.filter_spatial_lengths_.end(),
                                                    args.C_,
                                                    std::multiplies<>{});
        const auto k_grain        = args.k_batch * Config::K_Tile;
        const auto k_split        = (gemm_k + k_grain - 1) / k_grain * Config::K_Tile;
        const index_t num_loop    = TilePartitioner::GetLoopNum(static_cast<index_t>(k_split));
        const bool has_hot_loop   = BaseGemmPipeline::BlockHasHotloop(num_loop);
        const TailNumber tail_num = BaseGemmPipeline::GetBlockLoopTailNum(num_loop);

        const dim3 grids  = Kernel::GridSize(kargs);
        const dim3 blocks = Kernel::BlockSize();
        float ave_time    = 0;

        const auto Run = [&](const auto /*has_hot_loop*/, const auto /*tail_number*/) {
            ave_time = launch_kernel(
                s, make_kernel<Config::kBlockPerCu>(Kernel{}, grids, blocks, 0, kargs));
            return ave_time;
        };

        BaseGemmPipeline::TailHandler(Run, has_hot_loop, tail_num);
        return ave_time;
    }

    static bool is_supported(const ck_tile::conv::ConvParam& param, int k_batch)
    {
        const GroupedConvFwdHostArgs<> args(param, nullptr, nullptr, {}, nullptr, k_batch);
        return Kernel::IsSupportedArgument(Kernel::MakeKernelArgs(args));
    }

#ifdef CK_EXPERIMENTAL_BUILDER
    static std::string get_instance_string() { return Kernel{}.GetInstanceString(); }
#endif
};

using SelectedConvKernelLauncher =
    grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4_Launcher;

} // namespace
  // ns_grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4

using grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4_Launcher =
    ns_grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4::
        grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4_Launcher;

#ifdef CK_TILE_SINGLE_KERNEL_INCLUDE
using SelectedConvKernelLauncher =
    grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4_Launcher;
constexpr const char* CONV_FWD_KERNEL_NAME =
    ns_grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x32_4x1x1_16x16x16_vec4_4_4::
        CONV_FWD_KERNEL_NAME;
#endif
