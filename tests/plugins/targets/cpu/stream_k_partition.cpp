// SPDX-License-Identifier: MIT
// Stream-K for every number of workgroups from 1 to a few hundred: the partition covers each (tile,
// iteration) exactly once, the fix-up reads only what was written, nothing is written outside, and
// tree, linear and persistent kernels agree with the definition.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "check.hpp"
#include "kernel_family.hpp"
#include "reference.hpp"

namespace {

using namespace test;
using ck_tile::StreamKReductionStrategy;
using lengths = std::vector<ck_tile::long_index_t>;

constexpr int most_workgroups = 300;

// Counts how often each iteration of each tile is computed by walking the ranges as blocks do.
void check_partition(std::int64_t m_tiles,
                     std::int64_t n_tiles,
                     std::int64_t loops,
                     std::int64_t workgroups)
{
    const auto plan = ck_tile::host_model::make_stream_k_plan(m_tiles, n_tiles, loops, workgroups);
    std::vector<int> visits(static_cast<std::size_t>(plan.tiles * plan.loops));
    const auto visit = [&visits](std::int64_t begin, std::int64_t end) {
        for(std::int64_t at = begin; at < end; ++at) { ++visits.at(static_cast<std::size_t>(at)); }
    };
    for(std::int64_t tile = 0; tile < plan.dp_tiles; ++tile)
    {
        visit(tile * loops, (tile + 1) * loops);
    }
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
    for(std::int64_t c = 0; c < plan.sk_ctas; ++c)
    {
        visit(plan.start(c), plan.start(c + 1));
        least = std::min(least, plan.start(c + 1) - plan.start(c));
        most  = std::max(most, plan.start(c + 1) - plan.start(c));
    }
    const std::string what = std::to_string(m_tiles) + "x" + std::to_string(n_tiles) + " tiles, " +
                             std::to_string(loops) + " loops, " + std::to_string(workgroups) +
                             " workgroups";
    for(const int count : visits) { REQUIRE_MESSAGE(count == 1, what); }
    CHECK_MESSAGE((plan.sk_ctas == 0 || most - least <= 1), what << ": uneven shares");
}

// One kernel on one problem with buffers that tell what it does to them.
template <StreamKReductionStrategy Strategy, bool Persistent>
void check_kernel(const ck_tile::conv::ConvParam& param,
                  const std::vector<float>& in,
                  const std::vector<float>& out,
                  const std::vector<double>& expected,
                  index_t workgroups)
{
    using family = stream_k_family<float,
                                   2,
                                   kernel_config{.tile{16, 16, 8}, .waves{1, 1, 1}},
                                   Strategy,
                                   Persistent>;
    using kernel = typename family::kernel;

    constexpr std::size_t fence = 256;
    constexpr float mark        = 12345.0f;
    const float poison          = std::nanf("");
    std::vector<float> weight(expected.size() + 2 * fence, mark);
    std::fill_n(weight.begin() + fence, expected.size(), poison);

    auto kargs = kernel::MakeKernelArgs(
        {param, in.data(), weight.data() + fence, {}, out.data(), 1}, workgroups, 1);
    const std::string what =
        std::string(Strategy == StreamKReductionStrategy::Tree ? "tree" : "linear") +
        (Persistent ? " persistent " : " ") + std::to_string(workgroups);
    REQUIRE_MESSAGE(kernel::IsSupportedArgument(kargs), what);

    // Flags are cleared as a launcher does, partial sums are poisoned: one that is read before it
    // was written makes the result NaN.
    const std::size_t words = kernel::GetWorkSpaceSize(kargs) / sizeof(float);
    std::vector<float> workspace(words + 2 * fence, mark);
    std::fill_n(workspace.begin() + fence, words, poison);
    const auto flags = static_cast<std::size_t>(kargs.plan.flag_bytes()) / sizeof(float);
    std::fill_n(workspace.begin() + fence, std::min(flags, words), 0.0f);
    kernel::SetWorkSpacePointer(kargs, words == 0 ? nullptr : workspace.data() + fence);

    ck_tile::launch_kernel(
        ck_tile::stream_config{},
        ck_tile::make_kernel<1>(kernel{}, kernel::GridSize(kargs), kernel::BlockSize(), 0, kargs));

    for(std::size_t i = 0; i < expected.size(); ++i)
    {
        const float got = weight[fence + i];
        REQUIRE_MESSAGE(got == static_cast<float>(expected[i]), what << ": element " << i);
    }
    for(std::size_t i = 0; i < fence; ++i)
    {
        REQUIRE_MESSAGE((weight[i] == mark && weight[fence + expected.size() + i] == mark),
                        what << ": wrote outside the weight");
        REQUIRE_MESSAGE((workspace[i] == mark && workspace[fence + words + i] == mark),
                        what << ": wrote outside the workspace");
    }
}

void check_kernels(const ck_tile::conv::ConvParam& param)
{
    const conv_shape shape = ck_tile::host_model::make_conv_shape(param);
    // Small integers: sums are exact in any order.
    const auto fill = [](std::size_t count, int step) {
        std::vector<double> values(count);
        int value = 0;
        for(double& element : values) { element = (value = (value + step) % 7) - 3; }
        return values;
    };
    const auto in = fill(input_size(shape), 5), out = fill(output_size(shape), 3);
    const auto expected = reference_backward_weight(shape, in, out);
    const std::vector<float> in_data(in.begin(), in.end()), out_data(out.begin(), out.end());
    for(index_t workgroups = 1; workgroups <= most_workgroups; ++workgroups)
    {
        using enum StreamKReductionStrategy;
        check_kernel<Tree, false>(param, in_data, out_data, expected, workgroups);
        check_kernel<Tree, true>(param, in_data, out_data, expected, workgroups);
        check_kernel<Linear, false>(param, in_data, out_data, expected, workgroups);
        check_kernel<Linear, true>(param, in_data, out_data, expected, workgroups);
    }
}

TEST_CASE("each iteration of each tile belongs to one workgroup")
{
    for(int workgroups = 1; workgroups <= most_workgroups; ++workgroups)
    {
        for(const auto& [m_tiles, n_tiles, loops] : {triple{1, 1, 1},
                                                     triple{1, 1, 400},
                                                     triple{2, 3, 7},
                                                     triple{5, 4, 1},
                                                     triple{3, 7, 32},
                                                     triple{13, 9, 5}})
        {
            check_partition(m_tiles, n_tiles, loops, workgroups);
        }
    }
}

// 3x2 tiles of 36 iterations.
TEST_CASE("kernels agree with the definition where rows and columns do not fill the last tile")
{
    const lengths one{1, 1}, filter{3, 3}, image{12, 12};
    check_kernels(ck_tile::conv::ConvParam(2, 1, 2, 40, 3, filter, image, one, one, one, one));
}

TEST_CASE("kernels agree with the definition where the last iteration of a group is not full")
{
    const lengths filter{2, 3}, image{19, 21}, stride{2, 1}, dilation{1, 2}, left{1, 0},
        right{0, 2};
    check_kernels(
        ck_tile::conv::ConvParam(2, 2, 5, 16, 2, filter, image, stride, dilation, left, right));
}

} // namespace
