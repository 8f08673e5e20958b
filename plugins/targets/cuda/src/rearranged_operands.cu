// SPDX-License-Identifier: MIT
// Copies of operands into the form that engine W takes, and of results out of it.
#include "ck_tile/cuda_model/rearranged_operands.hpp"

#include "ck_tile/core/utility/hip_check_error.hpp"
#include "ck_tile/cuda_model/rearrangement_launch.hpp"
#include "ck_tile/cuda_model/workspace.hpp"

namespace ck_tile::cuda_model {

namespace {

struct image_copy;
struct other_copy;
struct result_phases;

using element = std::uint16_t;

unsigned blocks_of(std::int64_t threads)
{ return static_cast<unsigned>((threads + rearranging_threads - 1) / rearranging_threads); }

template <typename User>
element* room_for(std::int64_t elements)
{
    return static_cast<element*>(
        impl::workspace_of<User>(static_cast<std::size_t>(elements) * sizeof(element)));
}

template <typename User>
row_widening widening(const rows_to_widen& r)
{
    row_widening p{};
    if(r.rows == 0) { return p; }
    p.from             = static_cast<const element*>(r.from);
    p.to               = room_for<User>(r.rows * r.wide);
    p.width            = static_cast<int>(r.width);
    p.stride           = r.stride;
    p.row_pieces       = make_fast_divisor(r.wide / copied_vector);
    p.pieces           = static_cast<int>(r.rows * (r.wide / copied_vector));
    const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(r.from));
    const auto all_fit = [&](std::int64_t vector) {
        return (r.width | r.stride) % vector == 0 && address % (2 * vector) == 0;
    };
    p.vector = all_fit(4) ? 4 : all_fit(2) ? 2 : 1;
    return p;
}

void fill_divisors(fast_divisor (&to)[3], const std::int64_t (&values)[3])
{
    for(int axis = 0; axis < 3; ++axis) { to[axis] = make_fast_divisor(values[axis]); }
}

void fill_sizes(int (&to)[3], const std::int64_t (&values)[3])
{
    for(int axis = 0; axis < 3; ++axis) { to[axis] = static_cast<int>(values[axis]); }
}

} // namespace

widened_operands
copy_widened(cudaStream_t stream, const rows_to_widen& first, const rows_to_widen& second)
{
    two_widenings both{};
    both.first            = widening<image_copy>(first);
    both.second           = widening<other_copy>(second);
    both.first_blocks     = blocks_of(both.first.pieces);
    const unsigned blocks = both.first_blocks + blocks_of(both.second.pieces);
    if(blocks > 0) { widen_rows<<<blocks, rearranging_threads, 0, stream>>>(both); }
    hip_check_error(cudaGetLastError());
    return {first.rows > 0 ? both.first.to : first.from,
            second.rows > 0 ? both.second.to : second.from};
}

const void* copy_columns(cudaStream_t stream,
                         const host_model::conv_shape& shape,
                         bool backward_data,
                         const void* image,
                         std::int64_t wide)
{
    const auto& positions    = backward_data ? shape.input : shape.output;
    const std::int64_t rows  = shape.N * host_model::volume(positions);
    const std::int64_t depth = backward_data ? shape.K : shape.C;
    column_gathering p{};
    p.from       = static_cast<const element*>(image);
    p.to         = room_for<image_copy>(rows * wide);
    p.row_pieces = make_fast_divisor(wide / copied_vector);
    p.pieces     = static_cast<int>(rows * (wide / copied_vector));
    p.channels   = static_cast<int>(depth);
    // Pixels side by side are one run.
    const bool dense       = shape.dilation[2] == 1;
    const std::int64_t run = dense ? depth * shape.filter[2] : depth;
    p.run                  = make_fast_divisor(run);
    p.runs                 = static_cast<int>(depth * host_model::volume(shape.filter) / run);
    fill_divisors(p.taps, shape.filter);
    if(dense) { p.taps[2] = make_fast_divisor(1); }
    fill_divisors(p.positions, positions);
    fill_sizes(p.length, backward_data ? shape.output : shape.input);
    fill_sizes(p.stride, shape.stride);
    fill_sizes(p.dilation, shape.dilation);
    fill_sizes(p.pad, shape.left_pad);
    for(int axis = 0; backward_data && axis < 3; ++axis)
    {
        // The window of an element of the input begins with the last tap.
        p.pad[axis] = p.dilation[axis] * static_cast<int>(shape.filter[axis] - 1) - p.pad[axis];
    }
    const bool flat       = shape.filter[0] == 1 && shape.input[0] == 1 && shape.output[0] == 1;
    const unsigned blocks = blocks_of(p.pieces);
    const auto start = [&](auto kernel) { kernel<<<blocks, rearranging_threads, 0, stream>>>(p); };
    if(run >= copied_vector) { start(flat ? gather_columns<2, true> : gather_columns<3, true>); }
    else
    {
        start(flat ? gather_columns<2, false> : gather_columns<3, false>);
    }
    hip_check_error(cudaGetLastError());
    return p.to;
}

const void* copy_flipped_weights(cudaStream_t stream,
                                 const host_model::conv_shape& shape,
                                 const operand_rearrangement& plan,
                                 const void* weights)
{
    const std::int64_t elements = plan.shape.K * plan.other_channels;
    weight_flip p{};
    p.from     = static_cast<const element*>(weights);
    p.to       = room_for<other_copy>(elements);
    p.elements = static_cast<int>(elements);
    p.width    = make_fast_divisor(plan.other_channels);
    p.filters  = make_fast_divisor(shape.K);
    p.taps     = static_cast<int>(host_model::volume(shape.filter));
    p.channels = static_cast<int>(shape.C);
    flip_weights<<<blocks_of(elements), rearranging_threads, 0, stream>>>(p);
    hip_check_error(cudaGetLastError());
    return p.to;
}

const void* copy_weight_phases(cudaStream_t stream,
                               const host_model::conv_shape& shape,
                               const operand_rearrangement& plan,
                               const void* weights)
{
    const std::int64_t elements =
        shape.K * host_model::volume(plan.shape.filter) * plan.other_channels;
    weight_phases p{};
    p.from     = static_cast<const element*>(weights);
    p.to       = room_for<other_copy>(elements);
    p.elements = static_cast<int>(elements);
    p.width    = make_fast_divisor(plan.other_channels);
    p.channels = make_fast_divisor(shape.C);
    fill_divisors(p.taps, plan.shape.filter);
    fill_divisors(p.strides, shape.stride);
    fill_sizes(p.filter, shape.filter);
    gather_weight_phases<<<blocks_of(elements), rearranging_threads, 0, stream>>>(p);
    hip_check_error(cudaGetLastError());
    return p.to;
}

void* phases_of_result(const operand_rearrangement& plan)
{
    const host_model::conv_shape& s = plan.shape;
    return room_for<result_phases>(s.N * host_model::volume(s.input) * s.C);
}

void copy_image_phases(cudaStream_t stream,
                       const host_model::conv_shape& shape,
                       const operand_rearrangement& plan,
                       const void* phases,
                       void* image)
{
    image_phases p{};
    p.from     = static_cast<const element*>(phases);
    p.to       = static_cast<element*>(image);
    p.elements = shape.N * host_model::volume(shape.input) * shape.C;
    p.channels = make_fast_divisor(shape.C);
    fill_divisors(p.length, shape.input);
    fill_divisors(p.strides, shape.stride);
    fill_sizes(p.pad, shape.left_pad);
    fill_sizes(p.positions, plan.shape.input);
    spread_image_phases<<<blocks_of(p.elements), rearranging_threads, 0, stream>>>(p);
    hip_check_error(cudaGetLastError());
}

} // namespace ck_tile::cuda_model
