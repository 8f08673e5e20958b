// SPDX-License-Identifier: MIT
// Kernels for groups with one channel, thread by thread on the host, against their definition:
// filters, strides, pads, channels that do not fill a block, narrow and wide images, and few or
// many parts.
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "lanes.hpp"
#include "reference.hpp"

#include "ck_tile/cuda_model/depthwise_image.hpp"
#include "ck_tile/cuda_model/depthwise_tiles.hpp"
#include "ck_tile/cuda_model/depthwise_weight.hpp"

namespace {

using namespace ck_tile;
using namespace ck_tile::cuda_model;
using host_model::conv_shape;

constexpr auto bf16     = host_model::data_type::bf16;
constexpr auto fp32     = host_model::data_type::fp32;
constexpr auto rounding = bf16_rounding_mode::standard;

std::mt19937 random_bits(7);
int pick(int low, int high)
{ return low + static_cast<int>(random_bits() % static_cast<unsigned>(high - low + 1)); }

void set_axis(conv_shape& s, int axis, int filter, int stride)
{
    s.filter[axis]            = filter;
    s.stride[axis]            = stride;
    s.dilation[axis]          = filter == 1 ? pick(1, 2) : 1;
    s.left_pad[axis]          = pick(0, filter + 1);
    s.right_pad[axis]         = pick(0, filter + 1);
    const std::int64_t window = (filter - 1) * s.dilation[axis] + 1;
    s.input[axis]             = window + pick(0, axis == 2 && pick(0, 3) == 0 ? 60 : 14);
    s.output[axis] = (s.input[axis] + s.left_pad[axis] + s.right_pad[axis] - window) / stride + 1;
}

// `size`: of the smallest square that holds the filter.
conv_shape draw(int size, int stride)
{
    conv_shape s;
    s.G = depthwise_vector * pick(1, 12);
    s.N = pick(1, 3);
    s.K = s.C         = 1;
    const int shorter = pick(1, size), longer = size == 3 ? pick(1, 3) : pick(size - 1, size);
    const bool tall = pick(0, 1) == 0;
    set_axis(s, 1, tall ? longer : shorter, stride);
    set_axis(s, 2, tall ? shorter : longer, stride);
    return s;
}

// One row in each image.
conv_shape draw_row(int size, int stride)
{
    conv_shape s = draw(size, stride);
    s.filter[1] = s.stride[1] = s.dilation[1] = s.input[1] = s.output[1] = 1;
    s.left_pad[1] = s.right_pad[1] = 0;
    set_axis(s, 2, size, stride);
    return s;
}

std::string text(const conv_shape& s)
{
    const auto pair = [](const std::int64_t (&of)[3]) {
        return std::to_string(of[1]) + "x" + std::to_string(of[2]);
    };
    return "N " + std::to_string(s.N) + ", groups " + std::to_string(s.G) + ", filter " +
           pair(s.filter) + ", input " + pair(s.input) + ", pads " + pair(s.left_pad) + ", " +
           pair(s.right_pad) + ", stride " + pair(s.stride);
}

// Whole numbers: their sums are exact.
template <host_model::data_type Type>
std::vector<stored_t<Type>> draw_tensor(std::vector<double>& values)
{
    std::vector<stored_t<Type>> stored;
    for(double& value : values)
    {
        value = pick(-1, 1);
        stored.push_back(narrow<Type, rounding>(static_cast<float>(value)));
    }
    return stored;
}

template <host_model::data_type Type>
void compare(const std::vector<stored_t<Type>>& result,
             const std::vector<double>& expected,
             const std::string& what)
{
    int wrong = 0;
    for(std::size_t i = 0; i < expected.size(); ++i)
    {
        wrong += result[i] != narrow<Type, rounding>(static_cast<float>(expected[i]));
    }
    CHECK_MESSAGE(wrong == 0, what << ", of elements: " << expected.size());
}

void run_blocks(emulated::block& block, unsigned blocks, unsigned threads)
{
    for(unsigned b = 0; b < blocks; ++b) { emulated::run_block(block, threads, b); }
}

// What a block may copy from.
template <typename Element>
std::pair<const void*, std::size_t> memory_of(const std::vector<Element>& values)
{ return {values.data(), values.size() * sizeof(Element)}; }

template <host_model::data_type Type, typename Tile>
void check_weights(const conv_shape& s, int slots)
{
    CHECK(is_depthwise(s));
    std::vector<double> in(test::input_size(s)), out(test::output_size(s));
    const auto stored_in  = draw_tensor<Type>(in);
    const auto stored_out = draw_tensor<Type>(out);
    const auto expected   = test::reference_backward_weight(s, in, out);

    depthwise_plan p = make_depthwise_plan<Tile>(s, false);
    share_depthwise_plan(p, slots);
    CHECK(depthwise_weight_bytes<Type, Tile>(p) <= shared_bytes);
    const int sums = Tile::size * Tile::size * p.groups;
    std::vector<float> partial(depthwise_partial_sums(p, Tile::size), -77.f);
    std::vector<stored_t<Type>> result(expected.size(), stored_t<Type>(0x7fc1));
    p.image   = stored_in.data();
    p.other   = stored_out.data();
    p.partial = partial.data();
    p.result  = result.data();

    emulated::block block;
    block.readable = {memory_of(stored_in), memory_of(stored_out)};
    block.kernel   = [&] { depthwise_weight<Type, Tile>(p); };
    run_blocks(block, depthwise_blocks(p), static_cast<unsigned>(p.warps) * 32);
    const auto parts = depthwise_parts(p, Tile::size);
    block.kernel     = [&] { add_parts<Type, rounding>(parts); };
    run_blocks(block, static_cast<unsigned>(sums + 31) / 32, 32 * part_adders);
    compare<Type>(result, expected, "weights, slots " + std::to_string(slots) + ", " + text(s));
}

template <host_model::data_type Type, typename Tile>
void check_images(const conv_shape& s, bool backward, int slots)
{
    CHECK(is_depthwise(s));
    std::vector<double> image(backward ? test::output_size(s) : test::input_size(s));
    std::vector<double> weights(test::weight_size(s));
    const auto stored_image   = draw_tensor<Type>(image);
    const auto stored_weights = draw_tensor<Type>(weights);
    const auto expected       = backward ? test::reference_backward_data(s, weights, image)
                                         : test::reference_forward(s, image, weights);

    depthwise_plan p = make_depthwise_plan<Tile>(s, backward);
    share_depthwise_plan(p, slots);
    CHECK(depthwise_stages<Type, Tile, false>::bytes(p) <= shared_bytes);
    std::vector<stored_t<Type>> result(expected.size(), stored_t<Type>(0x7fc1));
    p.image  = stored_image.data();
    p.other  = stored_weights.data();
    p.result = result.data();

    emulated::block block;
    block.readable = {memory_of(stored_image)};
    block.kernel   = [&] { depthwise_image<Type, rounding, Tile>(p); };
    run_blocks(block, depthwise_blocks(p), static_cast<unsigned>(p.warps) * 32);
    compare<Type>(result,
                  expected,
                  (backward ? "gradients, slots " : "outputs, slots ") + std::to_string(slots) +
                      ", " + text(s));
}

template <host_model::data_type Type, int Size>
void check()
{
    for(const int slots : {1, 7, 60})
    {
        for(const bool row : {false, true})
        {
            const auto any = [row](int stride) {
                return row ? draw_row(Size, stride) : draw(Size, stride);
            };
            check_weights<Type, depthwise_weight_tile<Type, 1, Size>>(any(1), slots);
            check_weights<Type, depthwise_weight_tile<Type, 2, Size>>(any(2), slots);
            check_images<Type, depthwise_image_tile<Type, 1, Size>>(any(1), false, slots);
            check_images<Type, depthwise_image_tile<Type, 2, Size>>(any(2), false, slots);
            check_images<Type, depthwise_image_tile<Type, 1, Size>>(any(1), true, slots);
            check_images<Type, depthwise_scatter_tile<Size>>(any(2), true, slots);
        }
    }
}

TEST_CASE("convolutions of other kinds are left alone")
{
    const conv_shape fits = [] {
        conv_shape s = draw(5, 1);
        while(s.output[1] == 1 || s.filter[2] == 1) { s = draw(5, 1); }
        return s;
    }();
    CHECK(is_depthwise(fits));
    const auto differs = [&](auto change) {
        conv_shape s = fits;
        change(s);
        return !is_depthwise(s);
    };
    CHECK(differs([](conv_shape& s) { s.C = 2; }));
    CHECK(differs([](conv_shape& s) { s.K = 2; }));
    CHECK(differs([](conv_shape& s) { s.G = 6; }));
    CHECK(differs([](conv_shape& s) { s.filter[0] = 3; }));
    CHECK(differs([](conv_shape& s) { s.output[0] = 2; }));
    CHECK(differs([](conv_shape& s) { s.filter[1] = 8; }));
    CHECK(differs([](conv_shape& s) { s.filter[2] = 8; }));
    CHECK(differs([](conv_shape& s) { s.stride[1] = 2; }));
    CHECK(differs([](conv_shape& s) { s.stride[1] = s.stride[2] = 3; }));
    CHECK(differs([](conv_shape& s) { s.dilation[2] = 2; }));
}

TEST_CASE("bf16 kernels agree with the definition")
{
    check<bf16, 3>();
    check<bf16, 5>();
    check<bf16, 7>();
}

TEST_CASE("fp32 kernels agree with the definition")
{
    check<fp32, 3>();
    check<fp32, 7>();
}

} // namespace
