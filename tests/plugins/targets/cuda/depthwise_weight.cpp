// SPDX-License-Identifier: MIT
// Weight gradients of groups with one channel, thread by thread on the host, against their
// definition: filters, strides, pads, channels that do not fill a block, and few or many parts.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "lanes.hpp"
#include "reference.hpp"

#include "ck_tile/cuda_model/depthwise_weight.hpp"

namespace {

using namespace ck_tile;
using namespace ck_tile::cuda_model;
using host_model::conv_shape;

constexpr auto bf16 = host_model::data_type::bf16;
constexpr auto fp32 = host_model::data_type::fp32;

std::mt19937 random_bits(7);
int pick(int low, int high)
{ return low + static_cast<int>(random_bits() % static_cast<unsigned>(high - low + 1)); }

conv_shape draw(int width, int stride)
{
    conv_shape s;
    s.G = depthwise_lane * pick(1, 50);
    s.N = pick(1, 3);
    s.K = s.C                  = 1;
    const std::int64_t most[2] = {depthwise_most_rows, width};
    for(int axis = 1; axis < 3; ++axis)
    {
        s.filter[axis]            = axis == 2 ? width : pick(1, static_cast<int>(most[0]));
        s.stride[axis]            = axis == 2 ? stride : pick(1, 3);
        s.dilation[axis]          = axis == 2 ? 1 : pick(1, 2);
        s.left_pad[axis]          = pick(0, width);
        s.right_pad[axis]         = pick(0, width);
        const std::int64_t window = (s.filter[axis] - 1) * s.dilation[axis] + 1;
        s.input[axis]             = window + pick(0, 14);
        s.output[axis] =
            (s.input[axis] + s.left_pad[axis] + s.right_pad[axis] - window) / s.stride[axis] + 1;
    }
    return s;
}

// Whole numbers: their sums are exact.
template <host_model::data_type Type>
std::vector<stored_t<Type>> draw_tensor(std::vector<double>& values)
{
    std::vector<stored_t<Type>> stored;
    for(double& value : values)
    {
        value = pick(-1, 1);
        stored.push_back(narrow<Type, bf16_rounding_mode::standard>(static_cast<float>(value)));
    }
    return stored;
}

template <host_model::data_type Type, int Width, int Stride>
void check(int slots)
{
    const conv_shape s = draw(Width, Stride);
    EXPECT(is_depthwise_weight(s));
    std::vector<double> in(test::input_size(s)), out(test::output_size(s));
    const auto stored_in  = draw_tensor<Type>(in);
    const auto stored_out = draw_tensor<Type>(out);
    const auto expected   = test::reference_backward_weight(s, in, out);

    depthwise_weight_params p = make_depthwise_weight_params(s, slots);
    EXPECT(p.parts * p.part_rows >= p.rows && (p.parts - 1) * p.part_rows < p.rows);
    const int sums = p.filter[0] * p.filter[1] * p.groups;
    std::vector<float> partial(static_cast<std::size_t>(p.parts) * static_cast<std::size_t>(sums),
                               -77.f);
    std::vector<stored_t<Type>> result(expected.size(), stored_t<Type>(0x7fc1));
    p.in      = stored_in.data();
    p.out     = stored_out.data();
    p.partial = partial.data();
    p.result  = result.data();

    emulated::block block;
    block.kernel = [&] { depthwise_weight<Type, Width, Stride>(p); };
    for(int b = 0; b < p.parts * depthwise_chunks(p.groups); ++b)
    {
        emulated::run_block(
            block, static_cast<unsigned>(p.filter[0]) * 32, static_cast<unsigned>(b));
    }
    block.kernel = [&] { add_depthwise_parts<Type, bf16_rounding_mode::standard>(p); };
    for(int b = 0; b < (sums + 31) / 32; ++b)
    {
        emulated::run_block(block, 32 * depthwise_adders, static_cast<unsigned>(b));
    }
    int wrong = 0;
    for(std::size_t i = 0; i < expected.size(); ++i)
    {
        wrong += result[i] !=
                 narrow<Type, bf16_rounding_mode::standard>(static_cast<float>(expected[i]));
    }
    EXPECT_MSG(wrong == 0,
               std::to_string(wrong) + " of " + std::to_string(expected.size()) +
                   " wrong: filter " + std::to_string(s.filter[1]) + "x" + std::to_string(Width) +
                   ", stride " + std::to_string(Stride) + ", groups " + std::to_string(s.G) +
                   ", slots " + std::to_string(slots));
}

void others_are_left_alone()
{
    const conv_shape fits = draw(5, 1);
    EXPECT(is_depthwise_weight(fits));
    const auto differs = [&](auto change) {
        conv_shape s = fits;
        change(s);
        return !is_depthwise_weight(s);
    };
    EXPECT(differs([](conv_shape& s) { s.C = 2; }));
    EXPECT(differs([](conv_shape& s) { s.K = 2; }));
    EXPECT(differs([](conv_shape& s) { s.G = 6; }));
    EXPECT(differs([](conv_shape& s) { s.filter[0] = 3; }));
    EXPECT(differs([](conv_shape& s) { s.output[0] = 2; }));
    EXPECT(differs([](conv_shape& s) { s.filter[1] = 8; }));
    EXPECT(differs([](conv_shape& s) { s.filter[2] = 1; }));
    EXPECT(differs([](conv_shape& s) { s.stride[2] = 3; }));
    EXPECT(differs([](conv_shape& s) { s.dilation[2] = 2; }));
}

} // namespace

int main()
{
    check<bf16, 3, 1>(1);
    check<bf16, 3, 2>(5);
    check<bf16, 5, 1>(40);
    check<bf16, 5, 2>(1);
    check<bf16, 7, 1>(5);
    check<bf16, 7, 2>(40);
    check<fp32, 3, 1>(5);
    check<fp32, 7, 2>(1);
    others_are_left_alone();
    return test::finish("depthwise_weight");
}
