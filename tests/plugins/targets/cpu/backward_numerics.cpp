// SPDX-License-Identifier: MIT
// Backward kernels of many configurations on random problems against the definition. Data are small
// integers: sums are exact and results must agree to the last bit, split or not.
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

struct entry
{
    bool data; // direction: data or weight
    data_type type;
    data_type result;
    bool (*is_supported)(const ck_tile::conv::ConvParam&, index_t);
    float (*launch)(const ck_tile::conv::ConvParam&, void*, void*, void*, index_t);
    std::string instance_string;
    int runs = 0;
};

template <typename Family, typename T, typename Result = T>
entry make(bool data)
{
    using ck_tile::host_model::data_type_of;
    return {data,
            data_type_of<T>::value,
            data_type_of<Result>::value,
            &Family::is_supported,
            &Family::launch,
            Family::kernel::GetInstanceString()};
}

template <typename T, index_t D>
void add_kernels(std::vector<entry>& all)
{
    all.push_back(make<backward_data_family<T, D, kernel_config{.pipeline = BASIC_V1}>, T>(true));
    all.push_back(
        make<backward_data_family<
                 T,
                 D,
                 kernel_config{
                     .tile{16, 32, 8}, .waves{1, 1, 1}, .vectors{4, 4, 2}, .pipeline = MEMORY}>,
             T>(true));
    all.push_back(make<backward_data_family<T,
                                            D,
                                            kernel_config{.tile{128, 64, 16},
                                                          .vectors{1, 1, 2},
                                                          .specialization = Filter1x1Stride1Pad0}>,
                       T>(true));
    all.push_back(
        make<backward_weight_family<T, D, kernel_config{.pipeline = BASIC_V1}>, T>(false));
    all.push_back(
        make<backward_weight_family<
                 T,
                 D,
                 kernel_config{
                     .tile{16, 32, 8}, .waves{1, 1, 1}, .vectors{4, 4, 2}, .pipeline = MEMORY}>,
             T>(false));
    all.push_back(
        make<backward_weight_family<T,
                                    D,
                                    kernel_config{.vectors{1, 1, 2},
                                                  .explicit_gemm  = true,
                                                  .specialization = Filter1x1Stride1Pad0}>,
             T>(false));
    all.push_back(
        make<backward_weight_family<T, D, kernel_config{.merged = 4, .pipeline = COMPUTE_V5}>, T>(
            false));
    all.push_back(
        make<backward_weight_family<T, D, kernel_config{.tile{32, 16, 16}, .merged = 8}>, T>(
            false));
    using enum ck_tile::StreamKReductionStrategy;
    all.push_back(
        make<stream_k_family<T, D, kernel_config{.tile{16, 16, 8}, .waves{1, 1, 1}}, Tree, false>,
             T>(false));
    all.push_back(
        make<stream_k_family<T, D, kernel_config{.tile{16, 32, 8}, .waves{1, 1, 1}}, Linear, true>,
             T>(false));
    all.push_back(
        make<stream_k_family<T, D, kernel_config{.tile{4, 16, 8}, .waves{1, 1, 1}}, Tree, true>, T>(
            false));
    if constexpr(!std::is_same_v<T, float>)
    {
        all.push_back(make<two_stage_family<T, D, kernel_config{.vectors{1, 1, 1}}>, T>(false));
        all.push_back(make<backward_weight_family<T, D, kernel_config{}, float>, T, float>(false));
    }
}

template <typename Function>
void with_type(data_type type, const Function& function)
{
    if(type == data_type::fp32) { function(float{}); }
    else if(type == data_type::fp16) { function(half_t{}); }
    else
    {
        function(bf16_t{});
    }
}

template <typename T>
std::vector<T> convert(const std::vector<double>& values)
{
    std::vector<T> result;
    for(const double value : values)
    {
        result.push_back(static_cast<T>(static_cast<float>(value)));
    }
    return result;
}

void run(entry& e,
         const ck_tile::conv::ConvParam& param,
         index_t k_batch,
         const std::vector<double>& in,
         const std::vector<double>& wei,
         const std::vector<double>& out,
         const std::vector<double>& expected)
{
    ++e.runs;
    with_type(e.type, [&]<typename T>(T) {
        with_type(e.result, [&]<typename R>(R) {
            std::vector<T> in_data = convert<T>(in), wei_data = convert<T>(wei),
                           out_data = convert<T>(out);
            std::vector<R> result(expected.size(), R(std::nanf("")));
            e.launch(param,
                     e.data ? static_cast<void*>(result.data()) : in_data.data(),
                     e.data ? static_cast<void*>(wei_data.data()) : result.data(),
                     out_data.data(),
                     k_batch);
            const std::vector<R> wanted = convert<R>(expected);
            for(std::size_t i = 0; i < result.size(); ++i)
            {
                const bool good = static_cast<float>(result[i]) == static_cast<float>(wanted[i]);
                CHECK_MESSAGE(good,
                              e.instance_string << " k_batch " << k_batch << " element " << i
                                                << ": got " << static_cast<float>(result[i])
                                                << ", expected " << expected[i]);
                if(!good) { return; }
            }
        });
    });
}

// bf16 holds integers up to 256 exactly, half up to 2048; beyond that split sums round more than
// once.
bool exact_when_split(const std::vector<double>& expected, data_type result)
{
    if(result == data_type::fp32) { return true; }
    double most = 0;
    for(const double value : expected) { most = std::max(most, std::abs(value)); }
    return most < (result == data_type::bf16 ? 120 : 1000);
}

TEST_CASE("every K block of every tile belongs to exactly one workgroup")
{
    for(int i = 0; i < 3000; ++i)
    {
        const auto plan = ck_tile::host_model::make_stream_k_plan(
            pick(1, 9), pick(1, 9), pick(1, 20), pick(1, 40));
        if(plan.sk_ctas == 0)
        {
            CHECK((plan.dp_tiles == plan.tiles && plan.workspace_bytes(64) == 0));
            continue;
        }
        CHECK(plan.start(0) == plan.dp_tiles * plan.loops);
        CHECK(plan.start(plan.sk_ctas) == plan.tiles * plan.loops);
        for(std::int64_t c = 0; c < plan.sk_ctas; ++c) { CHECK(plan.start(c) < plan.start(c + 1)); }
        CHECK(plan.dp_tiles % plan.workgroups == 0);
        CHECK(plan.workspace_bytes(64) == plan.flag_bytes() + plan.sk_ctas * 256);
        CHECK(plan.flag_bytes() % 128 == 0);
    }
}

#if defined(CKPROF_TEST_FEW_KERNELS)
constexpr bool few = true;
#else
constexpr bool few = false;
#endif

void check_problems(int dimensions, std::vector<entry>& entries)
{
    int splits                                     = 0;
    std::vector<ck_tile::conv::ConvParam> problems = chosen_problems(dimensions);
    for(int round = 0; round < rounds(40); ++round)
    {
        problems.push_back(random_problem(dimensions, round % 4));
    }
    for(const ck_tile::conv::ConvParam& param : problems)
    {
        const conv_shape shape = ck_tile::host_model::make_conv_shape(param);
        if(shape.output[0] < 1 || shape.output[1] < 1 || shape.output[2] < 1) { continue; }
        if(output_size(shape) * weight_size(shape) / static_cast<std::size_t>(shape.G * shape.K) >
           1500000)
        {
            continue;
        }
        const auto fill = [](std::size_t count) {
            std::vector<double> values(count);
            for(double& value : values) { value = pick(-1, 1); }
            return values;
        };
        const auto in = fill(input_size(shape)), wei = fill(weight_size(shape)),
                   out    = fill(output_size(shape));
        const auto data   = reference_backward_data(shape, wei, out);
        const auto weight = reference_backward_weight(shape, in, out);
        for(entry& e : entries)
        {
            const auto& expected = e.data ? data : weight;
            for(const index_t k_batch : {1, 2, 5, 13}) // stream-K: workgroups
            {
                if(!e.is_supported(param, k_batch)) { continue; }
                if(k_batch > 1 && !exact_when_split(expected, e.result)) { continue; }
                splits += k_batch > 1;
                run(e, param, k_batch, in, wei, out, expected);
            }
        }
    }
    for(const entry& e : entries)
    {
        CHECK_MESSAGE(e.runs > 0, "never supported: " << e.instance_string);
    }
    CHECK(splits > 0);
}

template <index_t D>
void check_kernels()
{
    std::vector<entry> entries;
    if constexpr(D == 1 || (!few && D == 2)) { add_kernels<float, D>(entries); }
    if constexpr(D == 2 || (!few && D == 3)) { add_kernels<half_t, D>(entries); }
    if constexpr(D == 3 || (!few && D == 1)) { add_kernels<bf16_t, D>(entries); }
    check_problems(D, entries);
}

TEST_CASE("1D kernels agree with the definition") { check_kernels<1>(); }
TEST_CASE("2D kernels agree with the definition") { check_kernels<2>(); }
TEST_CASE("3D kernels agree with the definition") { check_kernels<3>(); }

} // namespace
