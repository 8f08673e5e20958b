// SPDX-License-Identifier: MIT
// Plain GEMM kernels of any configuration at either interface level, built from the same types as
// generated headers, and erased to a table of functions.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "ck_tile/core.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/ops/epilogue.hpp"
#include "ck_tile/ops/gemm.hpp"

// Loop ends and the way of storing were template arguments in July 2025.
#if __has_include("ck_tile/host_model/level_facts.hpp")
#define CKPROF_TEST_LEVEL_2025_07 1
#else
#define CKPROF_TEST_LEVEL_2025_07 0
#endif

namespace test {

using ck_tile::index_t;

struct sizes
{ index_t m, n, k; };

enum class kind
{
    mem,
    compv1,
    compv3,
    compv4,
    compv5
};

struct gemm_config
{
    sizes tile{64, 64, 32};
    sizes waves{2, 2, 1};
    sizes mma{16, 16, 16};
    kind pipeline         = kind::compv3;
    bool a_row            = true;
    bool b_row            = false;
    bool pad_m            = false;
    bool pad_n            = false;
    bool pad_k            = false;
    bool interwave        = false;
    bool default_epilogue = false;
    bool e_row            = true; // else only with the default epilogue
    bool persistent       = false;
    sizes vectors{0, 0, 0}; // imposed, unless 0
    index_t wave_groups = 1;
};

template <bool IsRow>
using layout_of = std::conditional_t<IsRow,
                                     ck_tile::tensor_layout::gemm::RowMajor,
                                     ck_tile::tensor_layout::gemm::ColumnMajor>;

template <kind Kind, typename Problem>
struct pipeline_types;

#define CKPROF_TEST_GEMM_PIPELINE(KIND, NAME)                                                      \
    template <typename Problem>                                                                    \
    struct pipeline_types<kind::KIND, Problem>                                                     \
    {                                                                                              \
        using type = ck_tile::GemmPipeline##NAME<Problem>;                                         \
        using base = ck_tile::BaseGemmPipeline##NAME<Problem>;                                     \
    }
CKPROF_TEST_GEMM_PIPELINE(mem, AgBgCrMem);
CKPROF_TEST_GEMM_PIPELINE(compv1, AGmemBGmemCRegV1);
CKPROF_TEST_GEMM_PIPELINE(compv3, AgBgCrCompV3);
CKPROF_TEST_GEMM_PIPELINE(compv4, AgBgCrCompV4);
CKPROF_TEST_GEMM_PIPELINE(compv5, AgBgCrCompV5);
#undef CKPROF_TEST_GEMM_PIPELINE

template <typename A, typename B, typename Acc, typename E, gemm_config C>
struct gemm_types
{
    using shape       = ck_tile::TileGemmShape<ck_tile::sequence<C.tile.m, C.tile.n, C.tile.k>,
                                               ck_tile::sequence<C.waves.m, C.waves.n, C.waves.k>,
                                               ck_tile::sequence<C.mma.m, C.mma.n, C.mma.k>>;
    using partitioner = ck_tile::GemmSpatiallyLocalTilePartitioner<shape, 8, 4>;
    using traits      = ck_tile::TileGemmUniversalTraits<C.pad_m,
                                                         C.pad_n,
                                                         C.pad_k,
                                                         C.pipeline == kind::compv4,
                                                         layout_of<C.a_row>,
                                                         layout_of<C.b_row>,
                                                         layout_of<C.e_row>,
                                                         false,
                                                         false,
                                                         C.persistent,
                                                         C.wave_groups>;
    using pass        = ck_tile::element_wise::PassThrough;
    using none        = ck_tile::tuple<>;

    static constexpr bool fixed     = C.vectors.m != 0;
    static constexpr auto scheduler = C.interwave ? ck_tile::GemmPipelineScheduler::Interwave
                                                  : ck_tile::GemmPipelineScheduler::Intrawave;

#if CKPROF_TEST_LEVEL_2025_07
    template <bool Hot, ck_tile::TailNumber Tail>
    using problem = std::conditional_t<
        C.pipeline == kind::compv1,
        ck_tile::GemmPipelineProblem<A, B, Acc, shape, traits, A, fixed, C.vectors.m, C.vectors.n>,
        ck_tile::UniversalGemmPipelineProblem<A,
                                              B,
                                              Acc,
                                              shape,
                                              traits,
                                              scheduler,
                                              Hot,
                                              Tail,
                                              A,
                                              fixed,
                                              C.vectors.m,
                                              C.vectors.n>>;
    template <bool Hot, ck_tile::TailNumber Tail>
    using pipeline = typename pipeline_types<C.pipeline, problem<Hot, Tail>>::type;
    using base =
        typename pipeline_types<C.pipeline, problem<true, ck_tile::TailNumber::Full>>::base;

    template <ck_tile::memory_operation_enum Store>
    using epilogue = std::conditional_t<
        C.default_epilogue,
        ck_tile::DefaultGemm2DEpilogue<ck_tile::DefaultGemm2DEpilogueProblem<A,
                                                                             B,
                                                                             Acc,
                                                                             E,
                                                                             layout_of<C.e_row>,
                                                                             C.pad_m,
                                                                             C.pad_n,
                                                                             C.mma.m,
                                                                             C.mma.n,
                                                                             C.mma.k,
                                                                             false,
                                                                             true,
                                                                             Store>>,
        ck_tile::CShuffleEpilogue<
            ck_tile::CShuffleEpilogueProblem<A,
                                             B,
                                             none,
                                             Acc,
                                             E,
                                             none,
                                             ck_tile::tensor_layout::gemm::RowMajor,
                                             pass,
                                             shape::NumWarps * 64,
                                             C.tile.m,
                                             C.tile.n,
                                             C.waves.m,
                                             C.waves.n,
                                             C.mma.m,
                                             C.mma.n,
                                             C.mma.k,
                                             false,
                                             Store,
                                             C.wave_groups,
                                             fixed,
                                             C.vectors.k>>>;
    // With D tensors, which are not combined with parts of K.
    template <typename Operation, typename Ds, typename DsLayout>
    using shuffle = ck_tile::CShuffleEpilogue<
        ck_tile::CShuffleEpilogueProblem<A,
                                         B,
                                         Ds,
                                         Acc,
                                         E,
                                         DsLayout,
                                         ck_tile::tensor_layout::gemm::RowMajor,
                                         Operation,
                                         shape::NumWarps * 64,
                                         C.tile.m,
                                         C.tile.n,
                                         C.waves.m,
                                         C.waves.n,
                                         C.mma.m,
                                         C.mma.n,
                                         C.mma.k,
                                         false,
                                         ck_tile::memory_operation_enum::set,
                                         C.wave_groups,
                                         fixed,
                                         C.vectors.k>>;
    // Of any kernel of the configuration: which end of the loop is run is of no importance here.
    using some_pipeline = pipeline<true, ck_tile::TailNumber::Full>;
    template <bool Adds>
    using some_epilogue = epilogue<Adds ? ck_tile::memory_operation_enum::atomic_add
                                        : ck_tile::memory_operation_enum::set>;
    template <bool Hot, ck_tile::TailNumber Tail, ck_tile::memory_operation_enum Store>
    using kernel_of = ck_tile::GemmKernel<partitioner, pipeline<Hot, Tail>, epilogue<Store>>;
    using kernel = kernel_of<true, ck_tile::TailNumber::Full, ck_tile::memory_operation_enum::set>;
#else
    using problem  = ck_tile::UniversalGemmPipelineProblem<A,
                                                           B,
                                                           Acc,
                                                           shape,
                                                           traits,
                                                           scheduler,
                                                           pass,
                                                           pass,
                                                           A,
                                                           B,
                                                           fixed,
                                                           C.vectors.m,
                                                           C.vectors.n>;
    using pipeline = typename pipeline_types<C.pipeline, problem>::type;
    using base     = typename pipeline_types<C.pipeline, problem>::base;
    template <typename Operation, typename Ds, typename DsLayout>
    using shuffle = ck_tile::CShuffleEpilogue<
        ck_tile::CShuffleEpilogueProblem<A,
                                         B,
                                         Ds,
                                         Acc,
                                         E,
                                         DsLayout,
                                         ck_tile::tensor_layout::gemm::RowMajor,
                                         Operation,
                                         C.tile.m,
                                         C.tile.n,
                                         C.waves.m,
                                         C.waves.n,
                                         C.mma.m,
                                         C.mma.n,
                                         C.mma.k,
                                         false,
                                         C.wave_groups,
                                         fixed,
                                         C.vectors.k>>;
    using epilogue = std::conditional_t<
        C.default_epilogue,
        ck_tile::DefaultGemm2DEpilogue<ck_tile::DefaultGemm2DEpilogueProblem<A,
                                                                             B,
                                                                             none,
                                                                             Acc,
                                                                             E,
                                                                             none,
                                                                             layout_of<C.e_row>,
                                                                             pass,
                                                                             C.tile.m,
                                                                             C.tile.n,
                                                                             C.pad_m,
                                                                             C.pad_n,
                                                                             C.mma.m,
                                                                             C.mma.n,
                                                                             C.mma.k,
                                                                             false>>,
        shuffle<pass, none, none>>;
    using some_pipeline = pipeline;
    template <bool>
    using some_epilogue = epilogue;
    using kernel        = ck_tile::GemmKernel<partitioner, pipeline, epilogue>;
#endif
};

template <typename A, typename B, typename Acc, typename E, gemm_config C>
struct gemm_family : gemm_types<A, B, Acc, E, C>
{
    using types  = gemm_types<A, B, Acc, E, C>;
    using kernel = typename types::kernel;

    static bool is_supported(const ck_tile::GemmHostArgs& args)
    { return kernel::IsSupportedArgument(kernel::MakeKernelArgs(args)); }

    // Zeroes the result if its parts are to be added, then runs the kernel.
    static float launch(const ck_tile::GemmHostArgs& args, const ck_tile::stream_config& s)
    {
        const auto kargs = kernel::MakeKernelArgs(args);
        if(!kernel::IsSupportedArgument(kargs)) { throw std::runtime_error("unsupported"); }
        const dim3 grid = kernel::PersistentKernel ? kernel::MaxOccupancyGridSize(s)
                                                   : kernel::GridSize(args.M, args.N, args.k_batch);
        const auto zero = [&] {
            if(args.k_batch == 1) { return; }
            const auto lines = static_cast<std::size_t>(C.e_row ? args.M : args.N);
            const auto run   = static_cast<std::size_t>(C.e_row ? args.N : args.M);
            ck_tile::hip_check_error(
                hipMemset2DAsync(args.e_ptr,
                                 static_cast<std::size_t>(args.stride_E) * sizeof(E),
                                 0,
                                 run * sizeof(E),
                                 lines,
                                 s.stream_id_));
        };
#if CKPROF_TEST_LEVEL_2025_07
        float time       = 0;
        const auto start = [&](auto run) {
            time =
                ck_tile::launch_kernel_time_mask(s,
                                                 zero,
                                                 ck_tile::make_kernel<kernel::KernelBlockSize, 1>(
                                                     run, grid, kernel::BlockSize(), 0, kargs));
        };
        const auto run = [&](auto hot, auto tail) {
            using ck_tile::memory_operation_enum;
            using set = typename types::template kernel_of<decltype(hot)::value,
                                                           decltype(tail)::value,
                                                           memory_operation_enum::set>;
            using add = typename types::template kernel_of<decltype(hot)::value,
                                                           decltype(tail)::value,
                                                           memory_operation_enum::atomic_add>;
            if(args.k_batch > 1) { start(add{}); }
            else
            {
                start(set{});
            }
        };
        if constexpr(C.pipeline == kind::compv1)
        {
            run(ck_tile::bool_constant<true>{},
                ck_tile::integral_constant<ck_tile::TailNumber, ck_tile::TailNumber::Full>{});
        }
        else
        {
            using base          = typename types::base;
            const index_t grain = args.k_batch * C.tile.k;
            const index_t loops = (args.K + grain - 1) / grain;
            const bool hot      = base::BlockHasHotloop(loops);
            base::TailHandler(run, hot, base::GetBlockLoopTailNum(loops));
        }
        return time;
#else
        return ck_tile::launch_kernel_time_mask(
            s, zero, ck_tile::make_kernel<1>(kernel{}, grid, kernel::BlockSize(), 0, kargs));
#endif
    }
};

struct gemm_entry
{
    const ck_tile::host_model::plain_gemm_facts* facts;
    float (*launch)(const ck_tile::GemmHostArgs&, const ck_tile::stream_config&);
    bool (*is_supported)(const ck_tile::GemmHostArgs&);
    std::string name;
};

template <typename A, typename B, typename Acc, typename E, gemm_config C>
gemm_entry make_gemm_entry()
{
    using family = gemm_family<A, B, Acc, E, C>;
    return {
        &family::kernel::facts, &family::launch, &family::is_supported, family::kernel::GetName()};
}

// Cannot be launched, and is compiled faster for that.
template <typename A, typename B, typename Acc, typename E, gemm_config C>
gemm_entry make_support_entry()
{
    using family = gemm_family<A, B, Acc, E, C>;
    return {&family::kernel::facts, nullptr, &family::is_supported, family::kernel::GetName()};
}

} // namespace test
