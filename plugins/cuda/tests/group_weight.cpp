// SPDX-License-Identifier: MIT
// Weight gradients of groups with few channels, thread by thread on the host, against their
// definition: groups of 1 to 16 channels, pads, dilations, patches of one row and of many, parts.
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "lanes.hpp"
#include "reference.hpp"

#include "ck_tile/cuda_model/group_weight.hpp"

namespace {

using namespace ck_tile;
using namespace ck_tile::cuda_model;
using host_model::conv_shape;

constexpr auto bf16 = host_model::data_type::bf16;
constexpr auto fp32 = host_model::data_type::fp32;

std::mt19937 random_bits(19);
int pick(int low, int high)
{ return low + static_cast<int>(random_bits() % static_cast<unsigned>(high - low + 1)); }

conv_shape draw(int channels)
{
    conv_shape s;
    s.C = s.K = channels;
    s.G       = (channels < 8 ? 8 / channels : 1) * pick(1, 9);
    s.N       = pick(1, 3);
    for(int axis = 1; axis < 3; ++axis)
    {
        s.filter[axis]            = group_filter;
        s.dilation[axis]          = pick(1, 2);
        s.left_pad[axis]          = pick(0, 3);
        s.right_pad[axis]         = pick(0, 3);
        const std::int64_t window = (s.filter[axis] - 1) * s.dilation[axis] + 1;
        s.input[axis]             = window + pick(0, 14);
        s.output[axis] = s.input[axis] + s.left_pad[axis] + s.right_pad[axis] - window + 1;
    }
    return s;
}

// Whole numbers: their sums are exact.
std::vector<std::uint16_t> draw_tensor(std::vector<double>& values)
{
    std::vector<std::uint16_t> stored;
    for(double& value : values)
    {
        value = pick(-1, 1);
        stored.push_back(float_to_bf16_bits(static_cast<float>(value)));
    }
    return stored;
}

template <host_model::data_type Result>
void check(int channels, int parts, int most_bytes)
{
    const conv_shape s = draw(channels);
    CHECK(is_group_weight(s));
    std::vector<double> in(test::input_size(s)), out(test::output_size(s));
    const auto stored_in  = draw_tensor(in);
    const auto stored_out = draw_tensor(out);
    const auto expected   = test::reference_backward_weight(s, in, out);

    group_weight_params p = make_group_weight_params(s, parts, most_bytes);
    CHECK((p.rows > 0 && p.shared_bytes() <= most_bytes));
    CHECK((p.parts <= parts && p.parts * p.part_patches >= p.patches));
    CHECK((p.parts - 1) * p.part_patches < p.patches);
    CHECK(p.weights() == static_cast<std::int64_t>(expected.size()));
    std::vector<float> partial(static_cast<std::size_t>(p.parts) * expected.size(), -77.f);
    std::vector<stored_t<Result>> result(expected.size(), stored_t<Result>(0x7fc1));
    p.in      = stored_in.data();
    p.out     = stored_out.data();
    p.partial = partial.data();

    emulated::block block;
    block.readable = {{stored_in.data(), stored_in.size() * 2},
                      {stored_out.data(), stored_out.size() * 2}};
    block.kernel   = [&] { group_weight<bf16>(p); };
    for(int b = 0; b < p.parts * p.chunks(); ++b)
    {
        emulated::run_block(block, group_threads, static_cast<unsigned>(b));
    }
    CHECK(block.conflicts == 0);
    p.result        = result.data();
    const auto sums = group_weight_parts(p);
    block.kernel    = [&] { add_parts<Result, bf16_rounding_mode::standard>(sums); };
    for(std::int64_t b = 0; b < (sums.sums + 31) / 32; ++b)
    {
        emulated::run_block(block, 32 * part_adders, static_cast<unsigned>(b));
    }
    int wrong = 0;
    for(std::size_t i = 0; i < expected.size(); ++i)
    {
        wrong += result[i] !=
                 narrow<Result, bf16_rounding_mode::standard>(static_cast<float>(expected[i]));
    }
    CHECK_MESSAGE(wrong == 0, s.G << " groups, " << p.rows << " rows, " << p.parts << " parts");
}

TEST_CASE("groups that shared memory or the kernel's tile cannot hold are left to others")
{
    conv_shape s = draw(8);
    s.G = 32, s.N = 128;
    for(int axis = 1; axis < 3; ++axis)
    {
        s.input[axis] = s.output[axis] = 56;
        s.dilation[axis] = s.left_pad[axis] = 1;
    }
    const group_weight_params p = make_group_weight_params(s, 33, 232448);
    CHECK((p.parts == 33 && p.chunks() == 4 && p.rows > 1));
    // What shared memory cannot hold a row of is left to others.
    s.input[2] = s.output[2] = 3000;
    CHECK(make_group_weight_params(s, 1, 232448).rows == 0);

    const conv_shape fits = draw(4);
    const auto differs    = [&](auto change) {
        conv_shape other = fits;
        change(other);
        return !is_group_weight(other);
    };
    CHECK(differs([](conv_shape& o) { o.C = 8; }));
    CHECK(differs([](conv_shape& o) { o.C = o.K = 32; }));
    CHECK(differs([](conv_shape& o) { o.C = o.K = 3; }));
    CHECK(differs([](conv_shape& o) { o.G = 3; }));
    CHECK(differs([](conv_shape& o) { o.filter[0] = 3; }));
    CHECK(differs([](conv_shape& o) { o.output[0] = 2; }));
    CHECK(differs([](conv_shape& o) { o.filter[2] = 5; }));
    CHECK(differs([](conv_shape& o) { o.stride[1] = 2; }));
}

TEST_CASE("gradients of 1 channel in bf16") { check<bf16>(1, 3, 232448); }
TEST_CASE("gradients of 8 channels in bf16") { check<bf16>(8, 5, 232448); }
TEST_CASE("gradients of 2 channels in fp32") { check<fp32>(2, 2, 150 * 1024); }
TEST_CASE("gradients of 16 channels in fp32") { check<fp32>(16, 4, 100 * 1024); }
TEST_CASE("gradients of 4 channels in one part in fp32") { check<fp32>(4, 1, 100 * 1024); }

} // namespace
