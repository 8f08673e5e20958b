// SPDX-License-Identifier: MIT
// Registers the kernels of a generated folder with the dispatcher's registry, and runs each of them
// on the smallest of some problems that it supports against the definition.
//
// Data are small integers, so sums are exact, and results must agree to the last bit after the one
// conversion to the type of the result.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "ck_tile/core.hpp"
#include "ck_tile/dispatcher.hpp"
#include "ck_tile/dispatcher/register_all_grouped_conv_kernels.hpp"
#include "reference.hpp"

namespace {

using namespace ck_tile::dispatcher;
using test::conv_shape;
using values = std::vector<double>;

template <typename T>
std::vector<char> bytes_of(const values& all)
{
    std::vector<char> result(all.size() * sizeof(T));
    for(std::size_t i = 0; i < all.size(); ++i)
    {
        const T element = ck_tile::type_convert<T>(static_cast<float>(all[i]));
        std::memcpy(result.data() + i * sizeof(T), &element, sizeof(T));
    }
    return result;
}

std::vector<char> encoded(const std::string& type, const values& all)
{
    if(type == "fp16") { return bytes_of<ck_tile::half_t>(all); }
    if(type == "bf16") { return bytes_of<ck_tile::bf16_t>(all); }
    if(type == "fp8") { return bytes_of<ck_tile::fp8_t>(all); }
    if(type == "bf8") { return bytes_of<ck_tile::bf8_t>(all); }
    if(type == "int8") { return bytes_of<std::int8_t>(all); }
    return bytes_of<float>(all);
}

// From channels last to channels first, for groups of one channel.
values channels_first(const values& last, const conv_shape& s, const std::int64_t (&extent)[3])
{
    const auto pixels = static_cast<std::size_t>(extent[0] * extent[1] * extent[2]);
    const auto groups = static_cast<std::size_t>(s.G);
    values first(last.size());
    for(std::size_t n = 0; n < static_cast<std::size_t>(s.N); ++n)
        for(std::size_t g = 0; g < groups; ++g)
            for(std::size_t pixel = 0; pixel < pixels; ++pixel)
            {
                first[(n * groups + g) * pixels + pixel] = last[(n * pixels + pixel) * groups + g];
            }
    return first;
}

// The supported problem with the fewest elements; false if there is none.
bool find_problem(const GroupedConvKernelInstance& kernel, GroupedConvProblem& found)
{
    const GroupedConvKernelKey& key = kernel.key();
    const bool depthwise            = key.pipeline == "depthwise";
    std::vector<std::array<std::int64_t, 4>> sizes;
    const auto all = {1, 2, 4, 8, 16, 32, 64};
    for(const int N : {depthwise ? key.warp_k : 2, 16})
        for(const int G : all)
            for(const int K : all)
                for(const int C : all) { sizes.push_back({N, G, K, C}); }
    std::stable_sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) {
        return a[0] * a[1] * a[2] * a[3] < b[0] * b[1] * b[2] * b[3];
    });
    found.op         = key.op;
    const int filter = depthwise ? key.tile_k : key.specialization.starts_with("filter1x1") ? 1 : 3;
    for(auto i = static_cast<std::size_t>(3 - key.ndim_spatial); i < 3; ++i)
    {
        found.filter_spatial[i] = filter;
        found.padding[i]        = depthwise ? key.warp_m : filter / 2;
        found.stride[i]         = depthwise ? key.wave_m : 1;
        found.input_spatial[i]  = depthwise ? key.tile_m * key.wave_m : 3 + static_cast<int>(i);
    }
    found.compute_output_size();
    return std::any_of(sizes.begin(), sizes.end(), [&](const auto& of) {
        found.N = of[0], found.G = of[1], found.K = of[2], found.C = of[3];
        return kernel.is_supported(found);
    });
}

bool runs_right(const GroupedConvKernelInstance& kernel,
                const GroupedConvProblem& problem,
                std::mt19937& draw)
{
    const GroupedConvKernelKey& key = kernel.key();
    conv_shape s{};
    s.G = problem.G, s.N = problem.N, s.K = problem.K, s.C = problem.C;
    for(std::size_t i = 0; i < 3; ++i)
    {
        s.filter[i] = problem.filter_spatial[i], s.input[i] = problem.input_spatial[i];
        s.output[i] = problem.output_spatial[i], s.stride[i] = problem.stride[i];
        s.dilation[i] = problem.dilation[i], s.left_pad[i] = problem.padding[i];
    }
    const auto fill = [&](std::size_t count) {
        values all(count);
        for(double& value : all) { value = static_cast<int>(draw() % 3) - 1; }
        return all;
    };
    const bool depthwise = key.layout == "ngchw";
    const auto laid_out  = [&](const values& all, const auto& extent) {
        return depthwise ? channels_first(all, s, {extent[0], extent[1], extent[2]}) : all;
    };
    values in = fill(test::input_size(s)), wei = fill(test::weight_size(s)),
           out = fill(test::output_size(s));
    std::vector<char> a, b, expected;
    if(key.op == GroupedConvOp::Forward)
    {
        expected = encoded(key.dtype_out, laid_out(test::reference_forward(s, in, wei), s.output));
        a = encoded(key.dtype_in, laid_out(in, s.input)), b = encoded(key.dtype_wei, wei);
    }
    else if(key.op == GroupedConvOp::BackwardData)
    {
        expected = encoded(key.dtype_in, test::reference_backward_data(s, wei, out));
        a = encoded(key.dtype_out, out), b = encoded(key.dtype_wei, wei);
    }
    else
    {
        expected = encoded(key.dtype_wei, test::reference_backward_weight(s, in, out));
        a = encoded(key.dtype_in, in), b = encoded(key.dtype_out, out);
    }
    std::vector<char> result(expected.size(), 0x7f);
    GroupedConvRegistry alone;
    alone.register_kernel(key, std::make_shared<GroupedConvKernelInstance>(kernel));
    GroupedConvDispatcher dispatcher(&alone);
    dispatcher.set_benchmarking(false);
    dispatcher.run(a.data(), b.data(), result.data(), problem);
    return result == expected;
}

} // namespace

int main()
{
    auto& registry = GroupedConvRegistry::instance();
    CKPROF_REGISTER("gfx950");
    const std::size_t registered = registry.size();
    CKPROF_REGISTER("gfx950"); // of equal priority: nothing changes
    std::mt19937 draw(1);
    bool good = registry.size() == registered;
    for(const GroupedConvKernelInstance* kernel : registry.all_kernels())
    {
        GroupedConvProblem problem;
        const bool supported = find_problem(*kernel, problem);
        const bool right     = supported && runs_right(*kernel, problem, draw);
        std::printf("%s %s\n%s\n",
                    right       ? "right"
                    : supported ? "wrong"
                                : "unsupported",
                    kernel->name().c_str(),
                    kernel->name(true).c_str());
        good = good && right == supported;
    }
    return good && registry.filter_by_arch("gfx000") == registered && registry.empty() ? 0 : 1;
}
