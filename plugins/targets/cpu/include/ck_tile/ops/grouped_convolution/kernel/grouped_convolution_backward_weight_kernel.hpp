// SPDX-License-Identifier: MIT
// The backward-weight convolution kernel.
#pragma once

#include <stdexcept>
#include <string>

#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/device.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/kernel_text.hpp"
#include "ck_tile/host_model/make_kernel_facts.hpp"
#include "ck_tile/host_model/rejection.hpp"
#include "ck_tile/host_model/runtime.hpp"
#include "ck_tile/host_model/stream_k.hpp"
#include "ck_tile/ops/grouped_convolution/kernel/grouped_convolution_kernel_args.hpp"
#include "ck_tile/ops/grouped_convolution/utils/grouped_convolution_utils.hpp"

namespace ck_tile {

// Grid: x output tiles, y GEMM batches (merged groups), z K parts.
template <index_t NDimSpatial>
struct GroupedConvBwdWeightKernelArgs : GroupedConvLengths<NDimSpatial>
{
    explicit GroupedConvBwdWeightKernelArgs(const conv::ConvParam& param)
        : GroupedConvLengths<NDimSpatial>(param)
    {}

    index_t k_batch   = 1; // resolved if it was automatic
    index_t GemmM     = 0;
    index_t GemmN     = 0;
    index_t GemmK     = 0;
    index_t GemmBatch = 0;

    const void* in_ptr  = nullptr;
    void* wei_ptr       = nullptr;
    const void* out_ptr = nullptr;

    host_model::backward_weight_call call{};

    // Stream-K only.
    host_model::stream_k_plan plan{};
    void* workspace_ptr = nullptr;
};

// wei[g,k,z,y,x,c] = sum over (n,do,ho,wo) of out[n,do,ho,wo,g,k] * in[n,position,g,c]. With
// k_batch > 1 every K part adds its share to the result atomically: the caller zeroes the result
// first.
template <typename GroupedConvTraitsType_,
          typename TilePartitioner_,
          typename GemmPipeline_,
          typename EpiloguePipeline_>
struct GroupedConvolutionBackwardWeightKernel
{
    using GroupedConvTraitsType = GroupedConvTraitsType_;
    using TilePartitioner       = TilePartitioner_;
    using GemmPipeline          = GemmPipeline_;
    using EpiloguePipeline      = EpiloguePipeline_;

    using OutDataType = typename GemmPipeline::ADataType;
    using InDataType  = typename GemmPipeline::BDataType;
    using WeiDataType = typename EpiloguePipeline::ODataType;

    static constexpr index_t NDimSpatial      = GroupedConvTraitsType::NDimSpatial;
    static constexpr index_t kBlockSize       = GemmPipeline::BlockSize;
    static constexpr index_t NumGroupsToMerge = GroupedConvTraitsType::NumGroupsToMerge;
    static_assert(NumGroupsToMerge <= 64 && (NumGroupsToMerge & (NumGroupsToMerge - 1)) == 0,
                  "a power of two up to 64 of groups can be merged");

    using KernelArgs = GroupedConvBwdWeightKernelArgs<NDimSpatial>;

    // The partitioner is a StreamKTilePartitioner.
    static constexpr bool IsStreamK = requires { TilePartitioner::ReductionStrategy; };

    static constexpr host_model::kernel_facts facts = [] {
        auto result = host_model::make_kernel_facts<host_model::direction::backward_weight,
                                                    GroupedConvTraitsType,
                                                    TilePartitioner,
                                                    GemmPipeline,
                                                    EpiloguePipeline>();
        if constexpr(IsStreamK)
        {
            result.stream_k            = true;
            result.stream_k_reduction  = static_cast<int>(TilePartitioner::ReductionStrategy);
            result.stream_k_persistent = TilePartitioner::PERSISTENT;
        }
        return result;
    }();

    // num_cu and occupancy matter to stream-K only; 0 takes the modelled device's values.
    static KernelArgs MakeKernelArgs(const GroupedConvBwdWeightHostArgs& args,
                                     [[maybe_unused]] int num_cu    = 0,
                                     [[maybe_unused]] int occupancy = 0)
    {
        static_assert(facts.elementwise.combine == nullptr,
                      "only forward is modelled with an element-wise operation in the kernel");
        if(args.num_dim_spatial_ != NDimSpatial)
        {
            throw std::runtime_error("this kernel is for problems of another dimension");
        }
        KernelArgs kargs(args);
        host_model::backward_weight_call& call = kargs.call;

        call = host_model::make_backward_weight_call(
            facts, host_model::make_conv_shape(args), args.k_batch);
        call.in  = args.in_ptr;
        call.wei = args.wei_ptr;
        call.out = args.out_ptr;

        kargs.k_batch   = static_cast<index_t>(call.k_batch);
        kargs.GemmM     = static_cast<index_t>(call.gemm.m);
        kargs.GemmN     = static_cast<index_t>(call.gemm.n);
        kargs.GemmK     = static_cast<index_t>(call.gemm.k);
        kargs.GemmBatch = static_cast<index_t>(call.gemm.batch);
        kargs.in_ptr    = args.in_ptr;
        kargs.wei_ptr   = args.wei_ptr;
        kargs.out_ptr   = args.out_ptr;
        if constexpr(IsStreamK)
        {
            if(num_cu <= 0) { num_cu = host_model::current_device().compute_units; }
            if(occupancy <= 0)
            {
                constexpr bool interwave =
                    GemmPipeline::Scheduler == GemmPipelineScheduler::Interwave;
                const int estimate = host_model::estimated_occupancy(facts);
                occupancy          = interwave && estimate < 2 ? 2 : estimate;
            }
            const auto tiles = [](std::int64_t length, std::int64_t tile) {
                return (length + tile - 1) / tile;
            };
            kargs.plan = host_model::make_stream_k_plan(
                tiles(call.gemm.m, TilePartitioner::MPerBlock) * call.gemm.batch,
                tiles(call.gemm.n, TilePartitioner::NPerBlock),
                tiles(call.gemm.k, TilePartitioner::KPerBlock),
                std::int64_t{num_cu} * occupancy);
        }
        return kargs;
    }

    static bool IsSupportedArgument(const KernelArgs& kargs)
    { return host_model::supports_backward_weight(facts, kargs.call); }

    static dim3 GridSize(const KernelArgs& kargs)
    {
        if constexpr(IsStreamK)
        {
            return dim3(static_cast<std::uint32_t>(TilePartitioner::GridSize(kargs.plan)));
        }
        else
        {
            return dim3(
                static_cast<std::uint32_t>(TilePartitioner::GridSize(kargs.GemmM, kargs.GemmN)),
                static_cast<std::uint32_t>(kargs.GemmBatch),
                static_cast<std::uint32_t>(kargs.k_batch));
        }
    }

    // Bytes for flags and partial tiles of stream-K, to be zeroed before every launch.
    static std::size_t GetWorkSpaceSize(const KernelArgs& kargs)
    {
        return static_cast<std::size_t>(
            kargs.plan.workspace_bytes(std::int64_t{facts.m_per_block} * facts.n_per_block) *
            kargs.call.gemm.batch);
    }

    static void SetWorkSpacePointer(KernelArgs& kargs, void* workspace)
    { kargs.workspace_ptr = workspace; }

    static dim3 BlockSize() { return dim3(kBlockSize); }

    static constexpr index_t GetSmemSize() { return GemmPipeline::GetSmemSize(); }

    static std::string GetName()
    { return host_model::conv_level::name_of_kernel<GroupedConvolutionBackwardWeightKernel>(); }
    static std::string GetTypeString() { return GetName(); }
    static std::string GetInstanceString() { return host_model::instance_string(facts); }

    // What multiplies in this launch.
    static void choose_unit(KernelArgs& kargs)
    { kargs.call.unit = host_model::choose_unit(facts, kargs.call); }

    void operator()(const host_model::block_position& block, const KernelArgs& kargs) const
    {
        // A two-stage launcher redirects wei_ptr after the arguments were made.
        host_model::backward_weight_call call = kargs.call;
        call.wei                              = kargs.wei_ptr;
        if constexpr(IsStreamK)
        {
            host_model::run_stream_k_block(facts, call, kargs.plan, kargs.workspace_ptr, block);
        }
        else
        {
            const auto [tile_m, tile_n] = TilePartitioner(kargs.GemmM, kargs.GemmN)
                                              .GetOutputTileIndex(static_cast<index_t>(block.x));
            host_model::run_backward_weight_block(facts, call, tile_m, tile_n, block);
        }
    }
};

} // namespace ck_tile
