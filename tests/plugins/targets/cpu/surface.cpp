// SPDX-License-Identifier: MIT
// The compile-time and host-side surface: partitioners, problems, support tests, texts, loop tails,
// conversions, launching.
#define CK_TILE_SINGLE_KERNEL_INCLUDE
#include "sample_forward_kernel.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "check.hpp"
#include "ck_tile/host_model/impl/rows.hpp"
#include "ck_tile/host_model/split_n.hpp"
#include "kernel_family.hpp"

namespace {

using namespace test;
using ck_tile::host_model::last_rejection;
using lengths = std::vector<ck_tile::long_index_t>;
using enum GemmPipeline;
using enum ConvolutionSpecialization;

template <typename Partitioner>
void check_bijection()
{
    for(index_t m = 1; m <= 19; ++m)
    {
        for(index_t n = 1; n <= 19; ++n)
        {
            const index_t M = m * Partitioner::MPerBlock - 1;
            const index_t N = n * Partitioner::NPerBlock - 1;
            const Partitioner partitioner(M, N);
            CHECK(Partitioner::GridSize(M, N) == m * n);
            std::set<std::pair<index_t, index_t>> tiles;
            for(index_t block = 0; block < m * n; ++block)
            {
                const auto [im, in] = partitioner.GetOutputTileIndex(block);
                CHECK((0 <= im && im < m && 0 <= in && in < n));
                tiles.insert({im, in});
            }
            CHECK(static_cast<index_t>(tiles.size()) == m * n);
        }
    }
}

TEST_CASE("partitioners give each block a tile of its own")
{
    using shape = TileGemmShape<sequence<32, 16, 8>, sequence<1, 1, 1>, sequence<16, 16, 16>>;
    check_bijection<GemmSpatiallyLocalTilePartitioner<shape, 8, 4>>();
    check_bijection<GemmTile1DPartitioner<shape>>();
    using local = GemmSpatiallyLocalTilePartitioner<shape, 8, 4>;
    CHECK(local::GetLoopNum(17) == 3);
    // 4 x 4 tiles: groups of 2; block 1 belongs to group 1, linear id 2, strip of 4 rows.
    const auto tile = local(128, 64).GetOutputTileIndex(1);
    CHECK((tile.m == 2 && tile.n == 0));
    const auto row_major = GemmTile1DPartitioner<shape>(128, 64).GetOutputTileIndex(5);
    CHECK((row_major.m == 1 && row_major.n == 1));
}

conv::ConvParam problem_2d(index_t g,
                           index_t n,
                           index_t k,
                           index_t c,
                           index_t filter,
                           index_t image,
                           index_t stride   = 1,
                           index_t dilation = 1,
                           index_t pad      = 1)
{
    const auto both = [](index_t value) { return std::vector<index_t>{value, value}; };
    return conv::ConvParam(2,
                           g,
                           n,
                           k,
                           c,
                           both(filter),
                           both(image),
                           both(stride),
                           both(dilation),
                           both(pad),
                           both(pad));
}

TEST_CASE("problems know their output and what they cost")
{
    const auto p = problem_2d(2, 4, 64, 12, 3, 28, 2, 1, 1);
    CHECK(p.output_spatial_lengths_ == (lengths{14, 14}));
    CHECK(p.GetFlops() == 2ull * 2 * 4 * 64 * 12 * 14 * 14 * 9);
    CHECK(p.GetByte<half_t, half_t, half_t>() ==
          2ull * (2 * 4 * 12 * 28 * 28 + 2 * 64 * 12 * 9 + 2 * 4 * 64 * 14 * 14));
    const conv::ConvParam big(2,
                              1,
                              128,
                              4096,
                              4096,
                              lengths{3, 3},
                              lengths{512, 512},
                              lengths{1, 1},
                              lengths{1, 1},
                              lengths{1, 1},
                              lengths{1, 1});
    CHECK(big.GetFlops() == 2ull * 128 * 4096 * 4096 * 512 * 512 * 9);
    const conv::ConvParam asymmetric(
        1, 1, 1, 1, 1, lengths{3}, lengths{2}, lengths{1}, lengths{2}, lengths{4}, lengths{0});
    CHECK(asymmetric.output_spatial_lengths_ == lengths{2});
    const std::vector<index_t> one{3}, four{4, 4}, unit{1, 1}, none{0, 0};
    CHECK_THROWS_AS(conv::ConvParam(2, 1, 1, 1, 1, one, four, unit, unit, none, none),
                    std::runtime_error);
    const lengths filter{3, 3}, image{4, 4}, stride{1}, dilation{1, 1}, pad{0, 0};
    CHECK_THROWS_AS(conv::ConvParam(2, 1, 1, 1, 1, filter, image, stride, dilation, pad, pad),
                    std::runtime_error);
}

using supported = bool (*)(const conv::ConvParam&, index_t);

void expect_rejection(supported test,
                      const conv::ConvParam& p,
                      index_t k_batch,
                      const std::string& reason)
{
    CHECK_MESSAGE(!test(p, k_batch), "accepted, expected: " << reason);
    CHECK_MESSAGE(last_rejection().find(reason) != std::string::npos,
                  "expected '" << reason << "', got '" << last_rejection() << "'");
}

void expect_support(supported test, const conv::ConvParam& p)
{
    CHECK_MESSAGE(test(p, 1), "rejected: " << last_rejection());
    CHECK(last_rejection().empty());
}

struct channels_first : test::layouts<2>
{ using in = tensor_layout::convolution::NGCHW; };
struct wrong_weights : test::layouts<2>
{ using wei = tensor_layout::convolution::GKCYX; };
struct wrong_output : test::layouts<2>
{ using out = tensor_layout::convolution::NGKHW; };

TEST_CASE("forward kernels say which problems they do not support and why")
{
    constexpr auto plain = &forward_family<
        half_t,
        2,
        kernel_config{.tile{128, 128, 64}, .vectors{8, 8, 8}, .pipeline = BASIC_V1}>::is_supported;
    // SupportAnswers of real CK Tile headers; at this level the vector widths are the traits'.
    expect_support(plain, problem_2d(1, 1, 64, 64, 3, 28));
    expect_rejection(plain,
                     problem_2d(2, 4, 64, 12, 3, 28),
                     1,
                     "C = 12 is not a multiple of the A vector width 8");
    expect_rejection(plain,
                     problem_2d(2, 4, 60, 64, 3, 28),
                     1,
                     "K = 60 is not a multiple of the C vector width 8");
    expect_support(plain, problem_2d(1, 2, 64, 64, 1, 14, 1, 1, 0));
    expect_support(plain, problem_2d(1, 2, 64, 64, 1, 14, 2, 1, 0));
    expect_rejection(plain,
                     problem_2d(1, 2, 64, 64, 3, 14),
                     2,
                     "k_batch = 2: the forward kernel does not split K");
    expect_rejection(plain, problem_2d(1, 2, 64, 64, 3, 14), 0, "k_batch = 0");
    expect_rejection(plain, problem_2d(1, 2, 64, 64, 3, 14), -1, "k_batch = -1");
    expect_rejection(plain, problem_2d(4, 2, 8, 1, 3, 14), 1, "C = 1 is not");
    expect_support(plain, problem_2d(1, 2, 64, 64, 3, 15, 2, 2, 2));

    constexpr auto b_wide =
        &forward_family<half_t, 2, kernel_config{.vectors{1, 4, 1}}>::is_supported;
    expect_rejection(
        b_wide, problem_2d(1, 1, 8, 6, 3, 8), 1, "C = 6 is not a multiple of the B vector width 4");

    constexpr auto c1_3x3 =
        &forward_family<half_t, 2, kernel_config{.vectors{1, 1, 8}, .specialization = Filter3x3}>::
            is_supported;
    expect_support(c1_3x3, problem_2d(4, 2, 8, 1, 3, 14));
    expect_rejection(c1_3x3, problem_2d(4, 2, 8, 2, 3, 14), 1, "Filter3x3 needs C = 1, got 2");
    expect_rejection(
        c1_3x3, problem_2d(4, 2, 8, 1, 1, 14), 1, "Filter3x3 needs filter height = 3, got 1");

    constexpr auto pointwise =
        &forward_family<half_t, 2, kernel_config{.specialization = Filter1x1Pad0}>::is_supported;
    expect_support(pointwise, problem_2d(1, 1, 8, 8, 1, 14, 2, 3, 0));
    expect_rejection(pointwise,
                     problem_2d(1, 1, 8, 8, 1, 14, 1, 1, 1),
                     1,
                     "Filter1x1Pad0 needs left pad height = 0, got 1");
    const conv::ConvParam right_padded(2,
                                       1,
                                       1,
                                       8,
                                       8,
                                       lengths{1, 1},
                                       lengths{9, 9},
                                       lengths{1, 1},
                                       lengths{1, 1},
                                       lengths{0, 0},
                                       lengths{0, 2});
    expect_rejection(pointwise, right_padded, 1, "needs right pad width = 0, got 2");

    constexpr auto unit =
        &forward_family<half_t, 2, kernel_config{.specialization = Filter1x1Stride1Pad0}>::
            is_supported;
    expect_support(unit, problem_2d(1, 1, 8, 8, 1, 14, 1, 1, 0));
    expect_rejection(unit,
                     problem_2d(1, 1, 8, 8, 1, 14, 2, 1, 0),
                     1,
                     "Filter1x1Stride1Pad0 needs stride height = 1, got 2");

    constexpr auto explicit_default =
        &forward_family<half_t, 2, kernel_config{.explicit_gemm = true}>::is_supported;
    expect_rejection(explicit_default,
                     problem_2d(1, 1, 8, 8, 1, 14, 1, 1, 0),
                     1,
                     "an explicit GEMM needs the specialization Filter1x1Stride1Pad0, not Default");

    constexpr auto merged =
        &forward_family<half_t, 2, kernel_config{.vectors{1, 1, 4}, .merged = 8}>::is_supported;
    expect_support(merged, problem_2d(16, 1, 8, 1, 3, 14));
    expect_support(merged, problem_2d(16, 1, 5, 1, 3, 14)); // G instead of K is a multiple of 4
    expect_rejection(merged,
                     problem_2d(12, 1, 8, 1, 3, 14),
                     1,
                     "G = 12 is not a multiple of the 8 merged groups");
    expect_rejection(
        merged, problem_2d(16, 1, 8, 2, 3, 14), 1, "merging 8 groups needs C = 1, got 2");
    constexpr auto merged_wide_b =
        &forward_family<half_t, 2, kernel_config{.vectors{1, 2, 4}, .merged = 8}>::is_supported;
    expect_rejection(merged_wide_b,
                     problem_2d(16, 1, 8, 1, 3, 14),
                     1,
                     "C = 1 is not a multiple of the B vector width 2");
    constexpr auto merged_wide_c =
        &forward_family<half_t, 2, kernel_config{.vectors{1, 1, 16}, .merged = 8}>::is_supported;
    expect_rejection(merged_wide_c,
                     problem_2d(8, 1, 5, 1, 3, 14),
                     1,
                     "neither K = 5 nor G = 8 is a multiple of the C vector width 16");

    expect_rejection(&forward_family<half_t, 2, kernel_config{}, channels_first>::is_supported,
                     problem_2d(1, 1, 8, 8, 3, 14),
                     1,
                     "the input layout NGCHW");
    expect_rejection(&forward_family<half_t, 2, kernel_config{}, wrong_weights>::is_supported,
                     problem_2d(1, 1, 8, 8, 3, 14),
                     1,
                     "the weight layout GKCYX");
    expect_rejection(&forward_family<half_t, 2, kernel_config{}, wrong_output>::is_supported,
                     problem_2d(1, 1, 8, 8, 3, 14),
                     1,
                     "the output layout NGKHW");

    using host_model::set_device;
    for(const auto test :
        {&forward_family<half_t, 2, kernel_config{.pipeline = COMPUTE_ASYNC}>::is_supported,
         &forward_family<half_t, 2, kernel_config{.pipeline = BASIC_ASYNC_V1}>::is_supported})
    {
        expect_support(test, problem_2d(1, 1, 8, 8, 3, 14));
        CHECK(set_device("gfx942:sramecc+:xnack-"));
        CHECK(host_model::current_device().compute_units == 304);
        expect_rejection(test, problem_2d(1, 1, 8, 8, 3, 14), 1, "the device is gfx942");
        CHECK((!set_device("gfx000") && host_model::current_device().name == "gfx942"));
        CHECK(set_device("gfx950"));
    }
    constexpr auto moved =
        &forward_family<half_t, 2, kernel_config{.pipeline = COMPUTE_TDM_V1}>::is_supported;
    expect_rejection(moved,
                     problem_2d(1, 1, 8, 8, 3, 14),
                     1,
                     "COMPUTE_TDM_V1 needs a tensor data mover (gfx1250); the device is gfx950");
    CHECK(set_device("gfx1250"));
    expect_support(moved, problem_2d(1, 1, 8, 8, 3, 14));
    CHECK(set_device("gfx950"));

    // Problems that CK Tile does not test for.
    constexpr auto any = &forward_family<half_t, 2, kernel_config{}>::is_supported;
    expect_rejection(
        any, problem_2d(1, 1, 8, 8, 5, 3, 1, 1, 0), 1, "output height = -1 is less than 1");
    expect_rejection(any, problem_2d(0, 1, 8, 8, 3, 14), 1, "G = 0");
    expect_rejection(any, problem_2d(1, -2, 8, 8, 3, 14), 1, "N = -2");
    expect_rejection(any, problem_2d(1, 1, 0, 8, 3, 14), 1, "K = 0");
    expect_rejection(any, problem_2d(1, 1, 8, 0, 3, 14), 1, "C = 0");
    expect_rejection(any, problem_2d(1, 1, 8, 8, 0, 14), 1, "filter height = 0");
    expect_rejection(any, problem_2d(1, 1, 8, 8, 3, 14, 0), 1, "stride height = 0");
    expect_rejection(any, problem_2d(1, 1, 8, 8, 3, 14, 1, 0), 1, "dilation height = 0");
    expect_rejection(any, problem_2d(1, 1, 8, 8, 3, 14, 1, 1, -1), 1, "left pad height = -1");
    expect_rejection(any, problem_2d(1, 1, 1, 1, 1, 60000, 1, 1, 0), 1, "32-bit indices");
    expect_rejection(merged, problem_2d(8, 512, 1, 1, 1, 1024, 1, 1, 0), 1, "GemmM = 4294967296");
    const conv::ConvParam huge(2,
                               1,
                               1,
                               8,
                               8,
                               lengths{1, 1},
                               lengths{std::numeric_limits<std::int64_t>::max() / 4, 2},
                               lengths{1, 1},
                               lengths{1, 1},
                               lengths{0, 0},
                               lengths{0, 0});
    expect_rejection(any, huge, 1, "32-bit indices");

    using one = forward_family<half_t, 1, kernel_config{}>;
    CHECK_THROWS_AS(one::is_supported(problem_2d(1, 1, 8, 8, 3, 14), 1), std::runtime_error);
}

TEST_CASE("images are split where a tensor exceeds two gibibytes")
{
    const auto images = [](std::int64_t n, std::int64_t c, std::int64_t length) {
        host_model::conv_shape s;
        s.G        = 1;
        s.N        = n;
        s.C        = c;
        s.K        = 1;
        s.input[2] = s.output[2] = length;
        return host_model::images_per_split(s);
    };
    const std::int64_t mib = 1 << 20;
    CHECK(images(8, 64, mib) == 8); // 2 GiB exactly
    CHECK(images(9, 64, mib) == 3); // two would do, three divides
    CHECK(images(16, 64, mib) == 8);
    CHECK(images(12, 128, mib) == 4); // 6 GiB in 3 parts
    CHECK(images(13, 64, mib) == 1);  // prime
    CHECK(images(4, 1024, mib) == 1);
    using kernel = forward_family<half_t, 1, kernel_config{}>::kernel;
    const conv::ConvParam p(
        1, 1, 16, 1, 64, lengths{1}, lengths{mib}, lengths{1}, lengths{1}, lengths{0}, lengths{0});
    const auto kargs =
        kernel::MakeKernelArgs(GroupedConvFwdHostArgs<>(p, nullptr, nullptr, {}, nullptr, 1));
    CHECK((kargs.n_splits == 2 && kargs.GemmM == 8 * mib && kernel::GridSize(kargs).z == 2));
}

TEST_CASE("grids cover the product of a convolution")
{
    using kernel     = forward_family<half_t, 2, kernel_config{.tile{128, 128, 64}}>::kernel;
    const auto kargs = kernel::MakeKernelArgs(GroupedConvFwdHostArgs<>(
        problem_2d(2, 4, 64, 12, 3, 28), nullptr, nullptr, {}, nullptr, 1));
    CHECK((kargs.GemmM == 3136 && kargs.GemmN == 64 && kargs.GemmK == 108 && kargs.GemmBatch == 2));
    const dim3 grid = kernel::GridSize(kargs);
    CHECK((grid.x == 25 && grid.y == 2 && grid.z == 1));
    CHECK(kernel::BlockSize().x == 256);
    using wavelet = forward_family<half_t, 2, kernel_config{.pipeline = WAVELET}>::kernel;
    CHECK(wavelet::BlockSize().x == 64 * (4 + 4));
    CHECK((kargs.in_g_n_c_wis_lengths[3] == 28 && kargs.wei_g_k_c_xs_lengths[4] == 3));
}

TEST_CASE("forward kernels and pipelines have the names of CK Tile")
{
    CHECK(SelectedConvKernelLauncher::get_instance_string() ==
          "GroupedConvolutionForwardKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,4,4,1,0,0,128,"
          "128,32,4,1,1,"
          "16,16,16,bf16,bf16,COMPUTE_V3,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough>");
    CHECK(forward_family<half_t, 2, kernel_config{.tile{64, 64, 64}, .vectors{4, 4, 4}}>::kernel::
              GetInstanceString() ==
          "GroupedConvolutionForwardKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,4,4,1,0,0,64,"
          "64,64,2,2,1,"
          "16,16,16,fp16,fp16,COMPUTE_V3,Intrawave,0,1,fp32,fp16,EmptyTuple,PassThrough>");
    CHECK(forward_family<float,
                         3,
                         kernel_config{.vectors{1, 1, 4},
                                       .merged         = 8,
                                       .split_image    = true,
                                       .double_buffer  = true,
                                       .wave_groups    = 2,
                                       .specialization = Filter3x3,
                                       .scheduler      = GemmPipelineScheduler::Interwave,
                                       .pipeline       = MEMORY}>::kernel::GetInstanceString() ==
          "GroupedConvolutionForwardKernel<3,Filter3x3,NDHWGC,GKZYXC,EmptyTuple,NDHWGK,1,1,4,8,1,"
          "0,64,64,32,2,2,1,"
          "16,16,16,fp32,fp32,MEMORY,Interwave,1,2,fp32,fp32,EmptyTuple,PassThrough>");
    const std::string name = SelectedConvKernelLauncher::Kernel::GetName();
    for(const char* part : {"grouped_convolution_forward_bf16_NHWGC_GKYXC_NHWGK_gemm_",
                            "128x128x32",
                            "4x1",
                            "16x16x16",
                            "Intrawave",
                            "CShuffleEpilogue_4x1_16x16x16_4_CNotTransposed",
                            "Default_MergedGroups_1_SplitImage_0_ExplicitGemm_0"})
    {
        CHECK_MESSAGE(name.find(part) != std::string::npos, name << " lacks " << part);
    }
    const auto pipeline_name = []<GemmPipeline P>() {
        return std::string(
            forward_family<half_t, 2, kernel_config{.pipeline = P}>::pipeline::GetPipelineName());
    };
    CHECK(pipeline_name.operator()<BASIC_V1>() == "BASIC_V1");
    CHECK(pipeline_name.operator()<BASIC_V2>() == "BASIC_V2");
    CHECK(pipeline_name.operator()<BASIC_ASYNC_V1>() == "BASIC_ASYNC_V1");
    CHECK(pipeline_name.operator()<COMPUTE_V4>() == "COMPUTE_V4");
    CHECK(pipeline_name.operator()<COMPUTE_V5>() == "COMPUTE_V5");
    CHECK(pipeline_name.operator()<COMPUTE_V6>() == "COMPUTE_V6");
    CHECK(pipeline_name.operator()<COMPUTE_ASYNC>() == "COMPUTE_ASYNC");
    CHECK(pipeline_name.operator()<COMPUTE_TDM_V1>() == "COMPUTE_TDM_V1");
    CHECK(pipeline_name.operator()<COMPUTE_TDM_V2>() == "COMPUTE_TDM_V2");
    CHECK(pipeline_name.operator()<WAVELET>() == "WAVELET");
}

TEST_CASE("backward kernels have the names of CK Tile")
{
    constexpr kernel_config built{.tile{128, 128, 32}, .waves{4, 1, 1}, .vectors{4, 4, 4}};
    CHECK(backward_data_family<bf16_t, 2, built>::kernel::GetInstanceString() ==
          "GroupedConvolutionBackwardDataKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,4,4,1,0,"
          "0,128,128,32,4,1,1,"
          "16,16,16,bf16,bf16,COMPUTE_V3,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough>");
    CHECK(backward_weight_family<bf16_t, 2, built>::kernel::GetInstanceString() ==
          "GroupedConvolutionBackwardWeightKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,4,4,1,"
          "0,0,128,128,32,4,1,1,"
          "16,16,16,bf16,bf16,COMPUTE_V3,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough,0>");
    using enum StreamKReductionStrategy;
    CHECK(
        stream_k_family<bf16_t,
                        2,
                        kernel_config{
                            .tile{64, 64, 64}, .vectors{8, 8, 8}, .pipeline = BASIC_ASYNC_V1},
                        Tree,
                        false>::kernel::GetInstanceString() ==
        "GroupedConvolutionBackwardWeightKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,8,8,8,1,0,0,"
        "64,64,64,2,2,1,"
        "16,16,16,bf16,bf16,BASIC_ASYNC_V1,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough,1,2,0>");
    CHECK(stream_k_family<
              bf16_t,
              2,
              kernel_config{
                  .tile{32, 16, 64}, .waves{2, 1, 1}, .vectors{4, 2, 2}, .pipeline = BASIC_V1},
              Tree,
              true>::kernel::GetInstanceString() ==
          "GroupedConvolutionBackwardWeightKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,4,2,2,1,"
          "0,0,32,16,64,2,1,1,"
          "16,16,16,bf16,bf16,BASIC_V1,Intrawave,0,1,fp32,bf16,EmptyTuple,PassThrough,1,2,1>");
    const std::string name = backward_weight_family<bf16_t, 2, built>::kernel::GetName();
    CHECK(name.ends_with("ExplicitGemm_0_SplitK"));
}

TEST_CASE("backward kernels say which problems they do not support and why")
{
    const auto plain_problem = problem_2d(1, 1, 64, 64, 3, 28);
    constexpr auto data =
        &backward_data_family<half_t, 2, kernel_config{.vectors{8, 4, 2}}>::is_supported;
    expect_support(data, plain_problem);
    CHECK(data(plain_problem, 7));
    expect_rejection(data, plain_problem, 0, "k_batch = 0 is less than 1");
    expect_rejection(
        data, problem_2d(1, 1, 64, 6, 3, 28), 1, "C = 6 is not a multiple of the B vector width 4");
    expect_rejection(data,
                     problem_2d(1, 1, 60, 64, 3, 28),
                     1,
                     "K = 60 is not a multiple of the A vector width 8");
    expect_rejection(
        data, problem_2d(1, 1, 64, 64, 12, 40, 12, 1, 0), 1, "144 GEMMs, a kernel takes 128");
    constexpr auto odd_data = &backward_data_family<half_t, 2, kernel_config{}>::is_supported;
    expect_support(odd_data, plain_problem);
    expect_rejection(
        odd_data, plain_problem, 2, "needs an even C vector width for fp16 results, got 1");
    CHECK(backward_data_family<float, 2, kernel_config{}>::is_supported(plain_problem, 2));
    constexpr auto wide_data =
        &backward_data_family<half_t, 2, kernel_config{.vectors{1, 1, 8}}>::is_supported;
    expect_rejection(wide_data,
                     problem_2d(1, 1, 64, 12, 3, 28),
                     1,
                     "C = 12 is not a multiple of the C vector width 8");

    using weight_kernel =
        backward_weight_family<half_t,
                               2,
                               kernel_config{
                                   .tile{128, 128, 64}, .vectors{8, 8, 8}, .pipeline = BASIC_V1}>;
    constexpr auto weight = &weight_kernel::is_supported;
    // SupportAnswers and grids of real CK Tile headers.
    expect_support(weight, plain_problem);
    expect_rejection(weight,
                     problem_2d(2, 4, 64, 12, 3, 28),
                     1,
                     "C = 12 is not a multiple of the B vector width 8");
    expect_rejection(weight,
                     problem_2d(2, 4, 60, 64, 3, 28),
                     1,
                     "K = 60 is not a multiple of the A vector width 8");
    CHECK(weight(problem_2d(1, 2, 64, 64, 3, 14), 2));
    expect_rejection(weight, problem_2d(4, 2, 8, 1, 3, 14), 1, "C = 1");
    const auto kargs = weight_kernel::kernel::MakeKernelArgs(
        {problem_2d(2, 4, 64, 12, 3, 28), nullptr, nullptr, {}, nullptr, 1});
    const dim3 grid = weight_kernel::kernel::GridSize(kargs);
    CHECK(kargs.GemmM == 64);
    CHECK(kargs.GemmN == 108);
    CHECK(kargs.GemmK == 3136);
    CHECK(grid.x == 1);
    CHECK(grid.y == 2);
    CHECK(grid.z == 1);

    expect_rejection(weight, plain_problem, 0, "k_batch = 0 is less than 1");
    expect_rejection(
        weight, plain_problem, 50, "k_batch = 50 is more than the 49 MMA steps of GemmK = 784");
    expect_rejection(
        weight, problem_2d(1, 64, 64, 64, 3, 28), 129, "k_batch = 129 is more than 128");
    CHECK(backward_weight_family<half_t, 2, kernel_config{}, float>::is_supported(
        problem_2d(1, 64, 64, 64, 3, 28), 129));
    expect_rejection(&backward_weight_family<half_t, 2, kernel_config{}>::is_supported,
                     plain_problem,
                     2,
                     "needs an even C vector width");
    constexpr auto v6 = &backward_weight_family<
        half_t,
        2,
        kernel_config{.tile{64, 64, 64}, .vectors{1, 1, 2}, .pipeline = COMPUTE_V6}>::is_supported;
    expect_support(v6, plain_problem);
    expect_rejection(
        v6, plain_problem, 5, "COMPUTE_V6 needs 4 K blocks per split, GemmK = 784 gives 3");
    expect_rejection(&backward_weight_family<half_t, 2, kernel_config{.merged = 4}>::is_supported,
                     problem_2d(6, 1, 8, 2, 3, 14),
                     1,
                     "G = 6 is not a multiple of the 4 merged groups");
    expect_rejection(
        &backward_weight_family<half_t, 2, kernel_config{.explicit_gemm = true}>::is_supported,
        problem_2d(1, 1, 8, 8, 1, 14, 1, 1, 0),
        1,
        "an explicit GEMM needs");
    // The automatic value: 256 compute units, 2 tiles of 64 x 64, and at least one part.
    using automatic   = backward_weight_family<float, 2, kernel_config{}>::kernel;
    const auto filled = automatic::MakeKernelArgs(
        {problem_2d(2, 8, 64, 64, 1, 28, 1, 1, 0), nullptr, nullptr, {}, nullptr, -1});
    CHECK(filled.k_batch == host_model::estimated_occupancy(automatic::facts) * 256 / 2);

    using enum StreamKReductionStrategy;
    constexpr auto stream_k =
        &stream_k_family<half_t, 2, kernel_config{}, Tree, false>::is_supported;
    expect_support(stream_k, plain_problem);
    expect_rejection(
        stream_k,
        problem_2d(2, 1, 32, 64, 3, 28),
        1,
        "stream-K with several groups needs GemmM = 32 to be a multiple of the tile's 64 rows");
    using stream_k_kernel = stream_k_family<half_t, 2, kernel_config{}, Tree, false>::kernel;
    CHECK(!stream_k_kernel::IsSupportedArgument(
        stream_k_kernel::MakeKernelArgs({plain_problem, nullptr, nullptr, {}, nullptr, 2})));
    host_model::set_device("gfx1201");
    expect_rejection(stream_k,
                     plain_problem,
                     1,
                     "stream-K runs on gfx90a, gfx942, gfx950, gfx1250; the device is gfx1201");
    host_model::set_device("gfx950");
}

// The tail handler must call back once, with constants equal to what the base computed.
template <GemmPipeline P, kernel_config C = kernel_config{.pipeline = P}>
void check_tails()
{
    using base = typename forward_family<half_t, 2, C>::base;
    for(index_t loops = 1; loops <= 24; ++loops)
    {
        const bool hot        = base::BlockHasHotloop(loops);
        const TailNumber tail = base::GetBlockLoopTailNum(loops);
        int calls             = 0;
        if constexpr(P == BASIC_V1 || P == BASIC_ASYNC_V1)
        {
            base::TailHandler(
                [&](const auto h) {
                    ++calls;
                    CHECK(decltype(h)::value == hot);
                    return 0.0f;
                },
                hot);
        }
        else
        {
            base::TailHandler(
                [&](const auto h, const auto t) {
                    ++calls;
                    CHECK((decltype(h)::value == hot && decltype(t)::value == tail));
                    return 0.0f;
                },
                hot,
                tail);
        }
        CHECK(calls == 1);
    }
}

TEST_CASE("tail handlers call back once with what the pipeline computed")
{
    check_tails<BASIC_V1>();
    check_tails<BASIC_ASYNC_V1>();
    check_tails<BASIC_V2>();
    check_tails<COMPUTE_V3>();
    check_tails<COMPUTE_V4>();
    check_tails<COMPUTE_V5>();
    check_tails<COMPUTE_V6>();
    check_tails<COMPUTE_ASYNC>();
    check_tails<COMPUTE_TDM_V1>();
    // Every number of prefetch stages from 2 to 8 of the memory pipeline.
    check_tails<MEMORY, kernel_config{.tile{128, 128, 64}, .pipeline = MEMORY}>();
    check_tails<MEMORY, kernel_config{.tile{64, 32, 64}, .pipeline = MEMORY}>();
    check_tails<MEMORY, kernel_config{.tile{32, 32, 64}, .pipeline = MEMORY}>();
    check_tails<MEMORY, kernel_config{.tile{32, 64, 32}, .pipeline = MEMORY}>();
    check_tails<MEMORY, kernel_config{.tile{48, 32, 32}, .pipeline = MEMORY}>();
    check_tails<MEMORY, kernel_config{.tile{32, 44, 32}, .pipeline = MEMORY}>();
    check_tails<MEMORY, kernel_config{.tile{16, 16, 32}, .pipeline = MEMORY}>();

    using enum TailNumber;
    using v3 = forward_family<half_t, 2, kernel_config{}>::base;
    CHECK((!v3::BlockHasHotloop(2) && v3::BlockHasHotloop(3)));
    CHECK(v3::GetBlockLoopTailNum(1) == Odd);
    CHECK(v3::GetBlockLoopTailNum(2) == Even);
    CHECK(v3::GetBlockLoopTailNum(7) == Full);
    using v4 = forward_family<half_t, 2, kernel_config{.pipeline = COMPUTE_V4}>::base;
    CHECK((v4::GetBlockLoopTailNum(5) == Three && v4::GetBlockLoopTailNum(6) == Two));
    using mem =
        forward_family<half_t, 2, kernel_config{.tile{16, 16, 32}, .pipeline = MEMORY}>::base;
    CHECK(mem::PrefetchStages == 8);
    CHECK(mem::GetBlockLoopTailNum(8) == Full);
    CHECK(mem::GetBlockLoopTailNum(15) == Seven);
    CHECK_THROWS_AS(v3::TailHandler([](auto, auto) { return 0.0f; }, true, Seven),
                    std::runtime_error);
}

// All 65536 bit patterns of both 16-bit types, scalar and by rows, and the rounding of floats.
TEST_CASE("numbers of all types convert as their formats define")
{
    std::vector<half_t> halves(65536);
    std::vector<bf16_t> brains(65536);
    for(unsigned i = 0; i < 65536; ++i)
    {
        halves[i].bits = static_cast<std::uint16_t>(i);
        brains[i].bits = static_cast<std::uint16_t>(i);
    }
    std::vector<float> from_half(65536), from_brain(65536);
    host_model::impl::widen_run(halves.data(), from_half.data(), 65536);
    host_model::impl::widen_run(brains.data(), from_brain.data(), 65536);
    std::vector<half_t> half_again(65536);
    std::vector<bf16_t> brain_again(65536);
    host_model::impl::narrow_run(
        from_half.data(), half_again.data(), 65536, bf16_rounding_mode::truncate);
    host_model::impl::narrow_run(
        from_brain.data(), brain_again.data(), 65536, bf16_rounding_mode::truncate);
    for(unsigned i = 0; i < 65536; ++i)
    {
        const unsigned exponent = (i >> 10) & 31, fraction = i & 1023;
        double value = exponent == 31 ? (fraction != 0 ? std::nan("") : INFINITY)
                       : exponent == 0
                           ? std::ldexp(fraction, -24)
                           : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
        if(i & 0x8000) { value = -value; }
        const float wanted = static_cast<float>(value);
        const float scalar = static_cast<float>(halves[i]);
        if(std::isnan(value)) { CHECK((std::isnan(scalar) && std::isnan(from_half[i]))); }
        else
        {
            CHECK(std::bit_cast<std::uint32_t>(scalar) == std::bit_cast<std::uint32_t>(wanted));
            CHECK(std::bit_cast<std::uint32_t>(from_half[i]) ==
                  std::bit_cast<std::uint32_t>(wanted));
            CHECK((half_again[i].bits == i && half_t(wanted).bits == i));
        }
        CHECK(std::bit_cast<std::uint32_t>(from_brain[i]) == i << 16);
        CHECK(std::bit_cast<std::uint32_t>(static_cast<float>(brains[i])) == i << 16);
        CHECK(brain_again[i].bits == i);
    }

    // Around every half value: the midpoint goes to the even neighbour, its neighbours to the
    // nearest.
    std::vector<float> samples;
    std::vector<std::uint16_t> wanted;
    for(unsigned i = 0; i < 0x7c00; ++i)
    {
        const double low   = static_cast<double>(from_half[i]);
        const double high  = i == 0x7bff ? 65536.0 : static_cast<double>(from_half[i + 1]);
        const float middle = static_cast<float>((low + high) / 2);
        const auto even    = static_cast<std::uint16_t>(i % 2 == 0 ? i : i + 1);
        samples.insert(samples.end(),
                       {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)});
        wanted.insert(wanted.end(),
                      {even, static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(i + 1)});
    }
    std::vector<half_t> rounded(samples.size());
    host_model::impl::narrow_run(samples.data(),
                                 rounded.data(),
                                 static_cast<std::int64_t>(samples.size()),
                                 bf16_rounding_mode::truncate);
    for(std::size_t i = 0; i < samples.size(); ++i)
    {
        CHECK(rounded[i].bits == wanted[i]);
        CHECK(half_t(samples[i]).bits == wanted[i]);
        CHECK(half_t(-samples[i]).bits == (wanted[i] | 0x8000));
    }

    using enum bf16_rounding_mode;
    const float above_half = 1.0f + 0.75f / 128;
    CHECK(bf16_bits_to_float(float_to_bf16_bits(above_half, truncate)) == 1.0f);
    CHECK(bf16_bits_to_float(float_to_bf16_bits(above_half, standard)) == 1.0078125f);
    CHECK(static_cast<float>(bf16_t(above_half)) == 1.0f); // the default truncates
    const float tie = std::bit_cast<float>(0x3f808000u);
    CHECK(float_to_bf16_bits(tie, standard) == 0x3f80);
    CHECK(float_to_bf16_bits(tie, standard_asm) == 0x3f80);
    CHECK(float_to_bf16_bits(tie, rta_asm) == 0x3f81);
    CHECK(float_to_bf16_bits(tie, truncate_w_nan) == 0x3f80);
    const float low_nan = std::bit_cast<float>(0x7f800001u);
    CHECK(float_to_bf16_bits(low_nan, truncate) == 0x7f80);
    for(const auto mode : {standard, standard_asm, rta_asm, truncate_w_nan})
    {
        CHECK(float_to_bf16_bits(low_nan, mode) == 0x7f81);
        CHECK(float_to_bf16_bits(std::numeric_limits<float>::infinity(), mode) == 0x7f80);
    }
    float values[3] = {tie, above_half, low_nan};
    bf16_t nearest[3];
    host_model::impl::narrow_run(values, nearest, 3, standard);
    CHECK((nearest[0].bits == 0x3f80 && nearest[1].bits == 0x3f81 && nearest[2].bits == 0x7f81));
    CHECK(type_convert<bf16_t>(half_t(1.5f)).bits == 0x3fc0);

    // TF32 keeps ten bits of fraction: nearest, ties to even, and what is no number stays that.
    const float unit = std::bit_cast<float>(0x3a800000u); // 2^-10
    CHECK((round_to_tf32(1.0f + unit / 2) == 1.0f && round_to_tf32(-1.0f - unit / 2) == -1.0f));
    CHECK(round_to_tf32(1.0f + unit * 1.5f) == 1.0f + 2 * unit);
    CHECK(round_to_tf32(std::nextafter(1.0f + unit / 2, 2.0f)) == 1.0f + unit);
    CHECK(round_to_tf32(std::nextafter(1.0f + unit / 2, 0.0f)) == 1.0f);
    CHECK(round_to_tf32(2.0f - unit / 4) == 2.0f);
    CHECK(static_cast<float>(tf32_t(1.0f + unit / 4)) == 1.0f);
    CHECK(round_to_tf32(std::numeric_limits<float>::max()) ==
          std::numeric_limits<float>::infinity());
    CHECK(round_to_tf32(std::numeric_limits<float>::infinity()) ==
          std::numeric_limits<float>::infinity());
    CHECK(std::isnan(round_to_tf32(low_nan)));
    CHECK(std::isnan(round_to_tf32(std::bit_cast<float>(0x7fffffffu))));
}

struct counting_kernel
{
    void operator()(const host_model::block_position& block,
                    std::atomic<int>* visits,
                    unsigned fails_at) const
    {
        const unsigned id = (block.z * block.grid.y + block.y) * block.grid.x + block.x;
        if(id == fails_at) { throw std::runtime_error("block failed"); }
        ++visits[id];
    }
};

TEST_CASE("what is no number becomes the bound of a clamp")
{
    const float none = std::numeric_limits<float>::quiet_NaN();
    static_assert(ck_tile::max(1.0f, 2.0f) == 2.0f && ck_tile::min(1.0f, 2.0f) == 1.0f);
    static_assert(ck_tile::max(-3, 2) == 2 && ck_tile::min(-3, 2) == -3);
    CHECK((ck_tile::max(none, -1.5f) == -1.5f && ck_tile::min(none, 6.0f) == 6.0f));
}

TEST_CASE("every block runs once for each launch and its failure arrives")
{
    const dim3 grid(7, 5, 3);
    for(const int workers : {1, 2, 5, 0})
    {
        host_model::set_worker_count(workers);
        std::vector<std::atomic<int>> visits(7 * 5 * 3);
        const auto call = make_kernel<2>(counting_kernel{}, grid, dim3(64), 0, visits.data(), ~0u);
        stream_config s;
        CHECK(launch_kernel(s, call) == 0.0f);
        for(const auto& count : visits) { CHECK(count == 1); }
        s.time_kernel_   = true;
        int preprocessed = 0;
        CHECK(launch_kernel_time_mask(s, [&] { ++preprocessed; }, call) > 0.0f);
        CHECK((preprocessed == 13 && visits[0] == 14));
        s.nrepeat_ = 0;
        CHECK(launch_kernel(s, call) == 0.0f);

        const auto fails = make_kernel<2>(counting_kernel{}, grid, dim3(64), 0, visits.data(), 40u);
        CHECK_THROWS_WITH_AS(
            launch_kernel(stream_config{}, fails), "block failed", std::runtime_error);
    }

    DeviceMem memory(12);
    memory.SetValue(1.5f);
    float values[3] = {};
    memory.FromDevice(values);
    CHECK(values[2] == 1.5f);
    hip_check_error(hipMemsetAsync(memory.GetDeviceBuffer(), 0, memory.GetBufferSize(), nullptr));
    memory.FromDevice(values, 4);
    CHECK(values[0] == 0.0f);
    CHECK(DeviceMem(0).GetDeviceBuffer() == nullptr);
}

// The sample header as a generated one is used.
TEST_CASE("a header as generated ones are supports and launches its kernel")
{
    const auto p = problem_2d(1, 2, 8, 4, 3, 9);
    CHECK(SelectedConvKernelLauncher::is_supported(p, 1));
    std::vector<bf16_t> in(p.GetInputByte<bf16_t>() / 2, bf16_t(1)),
        wei(p.GetWeightByte<bf16_t>() / 2, bf16_t(2));
    std::vector<bf16_t> out(p.GetOutputByte<bf16_t>() / 2);
    stream_config timed;
    timed.time_kernel_ = true;
    const GroupedConvFwdHostArgs<> args(p, in.data(), wei.data(), {}, out.data(), 1);
    CHECK(SelectedConvKernelLauncher::launch(args, timed) > 0.0f);
    CHECK(static_cast<float>(out[0]) == 2.0f * 4 * 4);
    CHECK(static_cast<float>(out[(9 + 1) * 8]) == 2.0f * 9 * 4);
    const GroupedConvFwdHostArgs<> split(p, in.data(), wei.data(), {}, out.data(), 0);
    CHECK_THROWS_AS(SelectedConvKernelLauncher::launch(split, stream_config{}), std::runtime_error);
}

// What is not met when all conditions are asked, as "id id ...", and "..." if there may be more.
std::string conditions_not_met(supported test, const conv::ConvParam& p, index_t k_batch)
{
    const host_model::collect_rejections all;
    test(p, k_batch);
    std::string ids;
    for(const host_model::rejection& rejection : host_model::unmet_requirements())
    {
        CHECK(!rejection.reason.empty());
        ids += (ids.empty() ? "" : " ") + rejection.condition;
    }
    return host_model::were_all_conditions_tested() ? ids : ids + " ...";
}

TEST_CASE("all conditions that are not met are collected")
{
    constexpr auto forward =
        &forward_family<half_t,
                        2,
                        kernel_config{.vectors{8, 4, 8},
                                      .specialization = Filter1x1Pad0}>::is_supported;
    CHECK(conditions_not_met(forward, problem_2d(1, 1, 8, 8, 1, 9, 1, 1, 0), 1).empty());
    CHECK(conditions_not_met(forward, problem_2d(1, 1, 8, 4, 1, 9, 1, 1, 0), 1) == "vector-a");
    // once per axis of filter and pads
    CHECK(conditions_not_met(forward, problem_2d(1, 1, 7, 6, 3, 9), 2) ==
          "split-k specialization specialization specialization specialization specialization "
          "specialization vector-a vector-b vector-c");
    // The first is the one that decides when only one is asked.
    CHECK(!forward(problem_2d(1, 1, 7, 6, 3, 9), 2));
    CHECK(host_model::unmet_requirements().size() == 1);
    CHECK(host_model::unmet_requirements().front().condition == "split-k");
    // Nothing else can be asked of a problem that makes no sense.
    const conv::ConvParam none(2,
                               1,
                               0,
                               7,
                               0,
                               lengths{3, 3},
                               lengths{9, 9},
                               lengths{1, 1},
                               lengths{1, 1},
                               lengths{0, 0},
                               lengths{0, 0});
    CHECK(conditions_not_met(forward, none, 2) == "problem problem ...");

    constexpr auto weight = &backward_weight_family<
        half_t,
        2,
        kernel_config{.vectors{8, 8, 1}, .merged = 4, .pipeline = COMPUTE_V6}>::is_supported;
    CHECK(conditions_not_met(weight, problem_2d(6, 1, 4, 4, 3, 4), 200) ==
          "pipeline-depth split-k-atomics split-k-atomics split-k vector-b vector-a merged-groups");
    CHECK(conditions_not_met(weight, problem_2d(6, 1, 4, 4, 3, 4), 0) == "split-k ...");

    constexpr auto data =
        &backward_data_family<half_t, 2, kernel_config{.vectors{8, 8, 2}}>::is_supported;
    CHECK(conditions_not_met(data, problem_2d(1, 1, 4, 4, 12, 40, 12), 1) ==
          "gemm-count vector-b vector-a");
    CHECK(conditions_not_met(data, problem_2d(1, 1, 8, 8, 3, 9), 0) == "split-k ...");
    // What no index reaches is not all that is asked of a large problem.
    const conv::ConvParam large = problem_2d(3, 1, 4, 4, 1, 30000);
    const std::string ids       = conditions_not_met(forward, large, 1);
    CHECK_MESSAGE(ids.starts_with("index-range index-range"), ids);
    CHECK_MESSAGE(ids.ends_with("vector-a vector-c"), ids);
    CHECK(conditions_not_met(data, large, 1) == "index-range index-range vector-b vector-a");
    const std::string groups = conditions_not_met(weight, large, -1);
    CHECK_MESSAGE(groups.find("merged-groups") != std::string::npos, groups);
    // Products of lengths that exceed 64 bits.
    constexpr std::int64_t most = 2147483647;
    const conv::ConvParam beyond(2,
                                 7,
                                 most,
                                 most,
                                 most,
                                 lengths{1, 1},
                                 lengths{most, most},
                                 lengths{1, 1},
                                 lengths{1, 1},
                                 lengths{0, 0},
                                 lengths{0, 0});
    for(const supported test : {supported(forward), supported(data), supported(weight)})
    {
        const std::string all = conditions_not_met(test, beyond, 1);
        CHECK_MESSAGE((all.starts_with("index-range index-range") && !all.ends_with("...")), all);
    }
}

} // namespace
