// SPDX-License-Identifier: MIT
// Operands that are copied for engine W, thread by thread on the host: the problem that is left
// must have the result of the one that was asked for.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "lanes.hpp"
#include "reference.hpp"

#include "ck_tile/cuda_model/rearranged_operands.hpp"

namespace {

using namespace ck_tile;
using namespace ck_tile::cuda_model;
using host_model::conv_shape;
using host_model::direction;
using kind   = operand_rearrangement::kind;
using memory = std::vector<std::uint16_t>;

std::mt19937 random_bits(11);
int pick(int low, int high)
{ return low + static_cast<int>(random_bits() % static_cast<unsigned>(high - low + 1)); }

// Small integers are stored as they are: kernels only move elements.
memory stored(const std::vector<double>& values)
{
    memory result;
    for(const double value : values)
    {
        result.push_back(static_cast<std::uint16_t>(static_cast<std::int16_t>(value)));
    }
    return result;
}

std::vector<double> numbers(const memory& values)
{
    std::vector<double> result;
    for(const std::uint16_t value : values)
    {
        result.push_back(static_cast<double>(static_cast<std::int16_t>(value)));
    }
    return result;
}

std::vector<double> draw(std::size_t count)
{
    std::vector<double> values(count);
    for(double& value : values) { value = pick(-3, 3); }
    return values;
}

// Of a copy of rows: the elements before the zeros, which must be zeros.
memory without_zeros(const memory& rows, std::int64_t width, std::int64_t wide)
{
    memory result;
    int wrong = 0;
    for(std::size_t i = 0; i < rows.size(); ++i)
    {
        const bool kept = static_cast<std::int64_t>(i) % wide < width;
        if(kept) { result.push_back(rows[i]); }
        wrong += !kept && rows[i] != 0;
    }
    CHECK(wrong == 0);
    return result;
}

template <typename Kernel>
void run(std::int64_t threads, const Kernel& kernel)
{
    emulated::block block;
    block.kernel = kernel;
    for(std::int64_t b = 0; b * rearranging_threads < threads; ++b)
    {
        emulated::run_block(block, rearranging_threads, static_cast<unsigned>(b));
    }
}

memory widen(const memory& from, std::int64_t width, std::int64_t wide)
{
    const auto rows = static_cast<std::int64_t>(from.size()) / width;
    memory to(static_cast<std::size_t>(rows * wide), 0x7fc1);
    two_widenings both{};
    both.first        = make_row_widening({from.data(), rows, width, width, wide}, to.data());
    both.first_blocks = static_cast<unsigned>(both.first.pieces / rearranging_threads + 1);
    run(both.first.pieces, [&] { widen_rows(both); });
    // The same by the blocks after those of another operand.
    memory again(to.size(), 0x7fc1);
    both.second       = make_row_widening({from.data(), rows, width, width, wide}, again.data());
    both.first_blocks = 0;
    run(both.second.pieces, [&] { widen_rows(both); });
    CHECK(again == to);
    return without_zeros(to, width, wide);
}

memory columns(const conv_shape& s, bool data, const memory& image, std::int64_t wide)
{
    memory to(static_cast<std::size_t>(column_elements(s, data, wide)), 0x7fc1);
    const auto p = make_column_gathering(s, data, image.data(), to.data(), wide);
    run(p.pieces, [&] {
        if(p.run.divisor >= copied_vector) { gather_columns<3, true>(p); }
        else
        {
            gather_columns<3, false>(p);
        }
    });
    const std::int64_t width = (data ? s.K : s.C) * host_model::volume(s.filter);
    return without_zeros(to, width, wide);
}

struct operands
{ std::vector<double> input, weights, output; };

// What backward data, forward or backward weight makes of operands.
std::vector<double> result_of(direction way, const conv_shape& s, const operands& o)
{
    switch(way)
    {
    case direction::forward: return test::reference_forward(s, o.input, o.weights);
    case direction::backward_data: return test::reference_backward_data(s, o.weights, o.output);
    default: return test::reference_backward_weight(s, o.input, o.output);
    }
}

void check(direction way, const conv_shape& s, const std::string& what)
{
    const operand_rearrangement plan = plan_rearrangement(way, s);
    if(plan.what == kind::none) { return; }
    CHECK(is_countable(plan, way));
    const bool data = way == direction::backward_data, weight = way == direction::backward_weight;
    const operands given{
        draw(test::input_size(s)), draw(test::weight_size(s)), draw(test::output_size(s))};
    operands made      = given;
    const conv_shape c = plan.shape;
    auto& image        = data ? made.output : made.input;
    auto& other        = weight ? made.output : made.weights;
    if(plan.what == kind::columns)
    {
        image = numbers(columns(s, data, stored(image), plan.image_channels));
    }
    else if(plan.image)
    {
        image = numbers(widen(stored(image), data ? c.K : c.C, plan.image_channels));
    }
    if(plan.what == kind::phases || (data && plan.what == kind::columns))
    {
        const memory from = stored(other);
        const bool phases = plan.what == kind::phases;
        const auto lines  = c.K * host_model::volume(c.filter);
        memory to(static_cast<std::size_t>(lines * plan.other_channels), 0x7fc1);
        const auto of_phases = make_weight_phases(s, plan, from.data(), to.data());
        const auto flip      = make_weight_flip(s, plan, from.data(), to.data());
        run(static_cast<std::int64_t>(to.size()), [&] {
            if(phases) { gather_weight_phases(of_phases); }
            else
            {
                flip_weights(flip);
            }
        });
        other = numbers(without_zeros(to, c.C, plan.other_channels));
    }
    else if(plan.other)
    {
        other = numbers(widen(stored(other), weight ? c.K : c.C, plan.other_channels));
    }
    std::vector<double> result = result_of(way, c, made);
    if(plan.what == kind::phases)
    {
        const memory phases = stored(result);
        memory to(test::input_size(s), 0x7fc1);
        const auto p = make_image_phases(s, plan, phases.data(), to.data());
        run(p.elements, [&] { spread_image_phases(p); });
        result = numbers(to);
    }
    CHECK_MESSAGE(result == result_of(way, s, given), what);
}

conv_shape draw_shape()
{
    conv_shape s;
    s.G = pick(0, 3) == 0 ? 2 : 1;
    s.N = pick(1, 2);
    s.K = pick(1, 20);
    s.C = pick(1, 20);
    for(int axis = pick(0, 5) == 0 ? 0 : 1; axis < 3; ++axis)
    {
        s.filter[axis]            = pick(1, 4);
        s.stride[axis]            = pick(1, 3);
        s.dilation[axis]          = pick(0, 2) == 0 ? 2 : 1;
        s.left_pad[axis]          = pick(0, 3);
        s.right_pad[axis]         = pick(0, 3);
        const std::int64_t window = (s.filter[axis] - 1) * s.dilation[axis] + 1;
        s.input[axis]             = window + pick(0, 5);
        s.output[axis] =
            (s.input[axis] + s.left_pad[axis] + s.right_pad[axis] - window) / s.stride[axis] + 1;
    }
    return s;
}

TEST_CASE("each kind of copy is met")
{
    conv_shape s{.G = 1, .N = 1, .K = 64, .C = 3};
    s.filter[1] = s.filter[2] = 3;
    CHECK(plan_rearrangement(direction::forward, s).what == kind::columns);
    CHECK(plan_rearrangement(direction::backward_weight, s).what == kind::columns);
    CHECK(plan_rearrangement(direction::backward_data, s).what == kind::widen);
    s.stride[2] = 2;
    CHECK(plan_rearrangement(direction::backward_data, s).what == kind::phases);
    s.C = 18;
    CHECK(plan_rearrangement(direction::forward, s).what == kind::widen);
    s.C = 24;
    CHECK(plan_rearrangement(direction::forward, s).what == kind::none);
    s.K         = 3;
    s.stride[2] = 1;
    CHECK(plan_rearrangement(direction::backward_data, s).what == kind::columns);
}

TEST_CASE("the problem that is left has the result of the one that was asked for")
{
    for(int i = 0; i < 60; ++i)
    {
        const conv_shape s = draw_shape();
        for(const direction way :
            {direction::forward, direction::backward_data, direction::backward_weight})
        {
            check(way,
                  s,
                  "problem " + std::to_string(i) + ", direction " +
                      std::to_string(static_cast<int>(way)));
        }
    }
}

} // namespace
