// SPDX-License-Identifier: MIT
// Depthwise kernels against the definition, their conditions and texts.
#include <cmath>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "depthwise_family.hpp"
#include "random_problems.hpp"
#include "reference.hpp"

namespace {

using namespace test;
using ck_tile::bf16_t;
using ck_tile::half_t;
using ck_tile::host_model::last_rejection;

template <typename T, index_t... Facts>
struct depthwise : depthwise_family<T, Facts...>
{
    using kernel = typename depthwise_family<T, Facts...>::kernel;
    using depthwise_family<T, Facts...>::supported;

    static void check(const ck_tile::conv::ConvParam& p)
    {
        REQUIRE_MESSAGE(supported(p), last_rejection());
        const conv_shape s = ck_tile::host_model::make_conv_shape(p);
        // The reference is channels-last; with one channel per group its tensors are N(HW)G.
        const auto fill = [](std::size_t count) {
            std::vector<double> values(count);
            for(double& value : values) { value = pick(-4, 4); }
            return values;
        };
        const auto in = fill(input_size(s)), wei = fill(weight_size(s));
        const auto expected   = reference_forward(s, in, wei);
        const auto transposed = [&s](std::size_t index, std::int64_t plane) { // N(HW)G to NG(HW)
            const auto i         = static_cast<std::int64_t>(index);
            const std::int64_t g = i % s.G, at = i / s.G % plane, n = i / s.G / plane;
            return static_cast<std::size_t>((n * s.G + g) * plane + at);
        };
        std::vector<T> in_data(in.size()), wei_data, out_data(expected.size(), T(std::nanf("")));
        for(std::size_t i = 0; i < in.size(); ++i)
        {
            in_data[transposed(i, volume(s.input))] = T(static_cast<float>(in[i]));
        }
        for(const double value : wei) { wei_data.push_back(T(static_cast<float>(value))); }
        const auto kargs = kernel::MakeKernelArgs(ck_tile::GroupedConvFwdHostArgs<>(
            p, in_data.data(), wei_data.data(), {}, out_data.data(), 1));
        ck_tile::launch_kernel(
            ck_tile::stream_config{},
            ck_tile::make_kernel(kernel{}, kernel::GridSize(kargs), kernel::BlockSize(), 0, kargs));
        for(std::size_t i = 0; i < expected.size(); ++i)
        {
            const float got = static_cast<float>(out_data[transposed(i, volume(s.output))]);
            REQUIRE_MESSAGE(got == static_cast<float>(T(static_cast<float>(expected[i]))),
                            kernel::GetInstanceString() << " element " << i);
        }
    }
};

ck_tile::conv::ConvParam
problem(int g, int n, int filter, int height, int width, int stride, int right)
{
    const auto both = [](int value) { return lengths(2, value); };
    return ck_tile::conv::ConvParam(2,
                                    g,
                                    n,
                                    1,
                                    1,
                                    both(filter),
                                    lengths{height, width},
                                    both(stride),
                                    both(1),
                                    both((filter - 1) / 2),
                                    both(right));
}

template <typename T>
void check_type()
{
    using single = depthwise<T, 8, 8, 3, 1, 8, 2, 2, 2, 2>; // four tiles at once
    single::check(problem(3, 8, 3, 7, 8, 1, 1));
    single::check(problem(5, 16, 3, 1, 1, 1, 1));
    using large = depthwise<T, 16, 16, 5, 2, 1, 1, 4, 8, 4>;
    large::check(problem(2, 3, 5, 40, 37, 2, 2));
    large::check(problem(2, 1, 5, 33, 5, 2, 1)); // right pads are free
    const auto refuses = [](const ck_tile::conv::ConvParam& p, const char* reason) {
        CHECK(!single::supported(p));
        CHECK_MESSAGE(last_rejection().find(reason) != std::string::npos, last_rejection());
    };
    refuses(problem(3, 8, 3, 9, 8, 1, 1), "exceeds the single tile 8x8");
    refuses(problem(3, 6, 3, 7, 8, 1, 1), "N = 6 is not a multiple of the 8 images");
    refuses(problem(3, 8, 5, 7, 8, 1, 1), "filter height = 5, the kernel is for 3");
}

TEST_CASE("fp32 kernels agree with the definition") { check_type<float>(); }
TEST_CASE("fp16 kernels agree with the definition") { check_type<half_t>(); }
TEST_CASE("bf16 kernels agree with the definition") { check_type<bf16_t>(); }

#if !defined(CKPROF_TEST_FEW_KERNELS)
TEST_CASE("an output that no cache holds is written past the caches")
{
    // in rows that begin and end anywhere
    depthwise<float, 16, 16, 3, 1, 1, 1, 4, 8, 4>::check(problem(66, 8, 3, 90, 91, 1, 1));
}
#endif

TEST_CASE("depthwise kernels have the names of CK Tile")
{
    using kernel = depthwise<half_t, 8, 8, 3, 1, 8, 2, 2, 2, 2>::kernel;
    CHECK(kernel::GetInstanceString() ==
          "GroupedConvolutionForwardKernel<2,Default,Depthwise,2,2,2,64,8,8,3,3,1,1,8,2,2,fp16,"
          "fp16,fp32,fp16>");
    CHECK(kernel::GetName() ==
          "grouped_convolution_forward_depthwise_fp16_bs_64_th_8_tw_8_fh_3_fw_3_sh_1_sw_1_nb_8_"
          "sbh_2_sbw_2_iv_2_ov_2");
}

TEST_CASE("a sub-tile that vectors do not divide is refused")
{
    using unaligned = depthwise<half_t, 8, 8, 3, 1, 4, 2, 2, 2, 8>;
    CHECK(!unaligned::supported(problem(1, 4, 3, 8, 8, 1, 1)));
    CHECK(last_rejection() == "sub-tile width 2 is not a multiple of the output vector 4");
}

} // namespace
