// SPDX-License-Identifier: MIT
// Forward kernels of many configurations on random problems against the definition.
//
// Data are small integers, so float sums are exact and results must agree to the last bit after the
// one conversion to the output type; float kernels are also run on real numbers with a tolerance.
#include <cmath>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "kernel_family.hpp"
#include "random_problems.hpp"
#include "reference.hpp"

namespace {

using namespace test;
using ck_tile::bf16_t;
using ck_tile::half_t;
using enum ck_tile::GemmPipeline;
using enum ck_tile::ConvolutionSpecialization;
using ck_tile::host_model::data_type;

template <typename T, index_t D>
void add_kernels(std::vector<forward_entry>& all)
{
    all.push_back(make_entry<T, D, kernel_config{.pipeline = BASIC_V1}>());
    all.push_back(
        make_entry<T, D, kernel_config{.tile{16, 16, 128}, .waves{1, 1, 1}, .pipeline = MEMORY}>());
    all.push_back(
        make_entry<T,
                   D,
                   kernel_config{.tile{128, 32, 8}, .vectors{4, 4, 2}, .pipeline = COMPUTE_V4}>());
    all.push_back(
        make_entry<
            T,
            D,
            kernel_config{
                .tile{32, 64, 16}, .waves{1, 1, 2}, .wave_groups = 2, .pipeline = COMPUTE_V5}>());
    all.push_back(make_entry<T, D, kernel_config{.merged = 4, .pipeline = COMPUTE_V3}>());
    all.push_back(
        make_entry<T, D, kernel_config{.specialization = Filter1x1Pad0, .pipeline = COMPUTE_V6}>());
    if constexpr(D == 2)
    {
        all.push_back(
            make_entry<T, D, kernel_config{.tile{256, 224, 64}, .pipeline = COMPUTE_V3}>());
        all.push_back(
            make_entry<T,
                       D,
                       kernel_config{
                           .tile{64, 16, 16}, .split_image = true, .pipeline = BASIC_V2}>());
        all.push_back(
            make_entry<T,
                       D,
                       kernel_config{
                           .merged = 8, .specialization = Filter3x3, .pipeline = BASIC_V1}>());
        all.push_back(make_entry<T,
                                 D,
                                 kernel_config{.explicit_gemm  = true,
                                               .specialization = Filter1x1Stride1Pad0,
                                               .pipeline       = WAVELET}>());
        all.push_back(make_entry<T, D, kernel_config{.pipeline = COMPUTE_ASYNC}>());
        all.push_back(make_entry<T, D, kernel_config{.pipeline = COMPUTE_TDM_V1}>());
        all.back().device = "gfx1250";
        all.push_back(make_entry<T, D, kernel_config{.pipeline = COMPUTE_TDM_V2}>());
        all.back().device = "gfx1250";
        all.push_back(make_entry<T, D, kernel_config{.pipeline = BASIC_ASYNC_V1}>());
        all.push_back(
            make_entry<
                T,
                D,
                kernel_config{
                    .tile{4, 64, 32}, .waves{1, 1, 1}, .mma{4, 64, 16}, .pipeline = BASIC_V1}>());
    }
}

template <typename T>
T converted(double value)
{ return static_cast<T>(static_cast<float>(value)); }

template <typename T>
void compare(const forward_entry& entry,
             const ck_tile::conv::ConvParam& param,
             const std::vector<double>& in,
             const std::vector<double>& wei,
             const std::vector<double>& expected,
             bool exact)
{
    const auto convert = [](const std::vector<double>& values) {
        std::vector<T> result;
        for(const double value : values) { result.push_back(converted<T>(value)); }
        return result;
    };
    // Exactly as large as the tensors: the address sanitizer sees any access beyond them.
    const std::vector<T> in_data  = convert(in);
    const std::vector<T> wei_data = convert(wei);
    std::vector<T> out(expected.size(), converted<T>(std::nan("")));

    const ck_tile::GroupedConvFwdHostArgs<> args(
        param, in_data.data(), wei_data.data(), {}, out.data(), 1);
    entry.launch(args, ck_tile::stream_config{});
    for(std::size_t i = 0; i < out.size(); ++i)
    {
        const T wanted   = converted<T>(expected[i]);
        const double got = static_cast<double>(static_cast<float>(out[i]));
        const bool good  = exact
                               ? std::memcmp(&out[i], &wanted, sizeof(T)) == 0
                               : std::abs(got - expected[i]) <= 2e-5 + 1e-5 * std::abs(expected[i]);
        CHECK_MESSAGE(good,
                      entry.instance_string << " element " << i << " of " << out.size() << ": got "
                                            << got << ", expected " << expected[i]);
        if(!good) { return; }
    }
}

#if defined(CKPROF_TEST_FEW_KERNELS)
constexpr bool few = true;
#else
constexpr bool few = false;
#endif

void check_problems(int dimensions, const std::vector<forward_entry>& entries)
{
    std::vector<int> runs(entries.size(), 0);
    std::vector<ck_tile::conv::ConvParam> problems = chosen_problems(dimensions);
    for(int round = 0; round < rounds(40); ++round)
    {
        problems.push_back(random_problem(dimensions, round % 4));
    }
    for(const ck_tile::conv::ConvParam& param : problems)
    {
        const conv_shape shape = ck_tile::host_model::make_conv_shape(param);
        if(volume(shape.output) < 1 || shape.output[0] < 1 || shape.output[1] < 1) { continue; }
        if(output_size(shape) * weight_size(shape) / static_cast<std::size_t>(shape.G * shape.K) >
           1500000)
        {
            continue;
        }
        for(const bool exact : {true, false})
        {
            const auto fill = [&](std::size_t count, int range) {
                std::vector<double> values(count);
                for(double& value : values)
                {
                    value = exact ? pick(-range, range)
                                  : static_cast<float>(pick(-1000, 1000)) / 1024.0f;
                }
                return values;
            };
            const auto in       = fill(input_size(shape), 5);
            const auto wei      = fill(weight_size(shape), 5);
            const auto expected = reference_forward(shape, in, wei);
            for(std::size_t e = 0; e < entries.size(); ++e)
            {
                const forward_entry& entry = entries[e];
                CHECK(ck_tile::host_model::set_device(entry.device));
                if(!entry.is_supported(param, 1)) { continue; }
                ++runs[e];
                switch(entry.type)
                {
                case data_type::fp32: compare<float>(entry, param, in, wei, expected, exact); break;
                case data_type::fp16:
                    if(exact) { compare<half_t>(entry, param, in, wei, expected, true); }
                    break;
                case data_type::bf16:
                    if(exact) { compare<bf16_t>(entry, param, in, wei, expected, true); }
                    break;
                default: FAIL("a type that convolutions do not have");
                }
            }
        }
    }
    for(std::size_t e = 0; e < entries.size(); ++e)
    {
        CHECK_MESSAGE(runs[e] > 0, "never supported: " << entries[e].instance_string);
    }
}

template <index_t D>
void check_kernels()
{
    std::vector<forward_entry> entries;
    if constexpr(!few || D == 3) { add_kernels<float, D>(entries); }
    if constexpr(!few || D == 2) { add_kernels<half_t, D>(entries); }
    if constexpr(!few || D == 1) { add_kernels<bf16_t, D>(entries); }
    check_problems(D, entries);
}

TEST_CASE("1D kernels agree with the definition") { check_kernels<1>(); }
TEST_CASE("2D kernels agree with the definition") { check_kernels<2>(); }
TEST_CASE("3D kernels agree with the definition") { check_kernels<3>(); }

} // namespace
