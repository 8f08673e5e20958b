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

void fill_divisors(fast_divisor (&to)[3], const std::int64_t (&values)[3])
{
    for(int axis = 0; axis < 3; ++axis) { to[axis] = make_fast_divisor(values[axis]); }
}

void fill_sizes(int (&to)[3], const std::int64_t (&values)[3])
{
    for(int axis = 0; axis < 3; ++axis) { to[axis] = static_cast<int>(values[axis]); }
}

} // namespace

const void* copy_widened(cudaStream_t stream,
                         const void* from,
                         std::int64_t rows,
                         std::int64_t width,
                         std::int64_t wide,
                         bool image)
{
    row_widening p{};
    p.from       = static_cast<const element*>(from);
    p.to         = image ? room_for<image_copy>(rows * wide) : room_for<other_copy>(rows * wide);
    p.width      = static_cast<int>(width);
    p.row_pieces = make_fast_divisor(wide / copied_vector);
    p.pieces     = static_cast<int>(rows * (wide / copied_vector));
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    const auto aligned = [&](int vector) {
        return width % vector == 0 && address % (2u * static_cast<unsigned>(vector)) == 0;
    };
    const unsigned blocks = blocks_of(p.pieces);
    if(aligned(4)) { widen_rows<4><<<blocks, rearranging_threads, 0, stream>>>(p); }
    else if(aligned(2)) { widen_rows<2><<<blocks, rearranging_threads, 0, stream>>>(p); }
    else
    {
        widen_rows<1><<<blocks, rearranging_threads, 0, stream>>>(p);
    }
    hip_check_error(cudaGetLastError());
    return p.to;
}

const void* copy_columns(cudaStream_t stream,
                         const host_model::conv_shape& shape,
                         const void* image,
                         std::int64_t wide)
{
    const std::int64_t rows = shape.N * host_model::volume(shape.output);
    column_gathering p{};
    p.from       = static_cast<const element*>(image);
    p.to         = room_for<image_copy>(rows * wide);
    p.width      = static_cast<int>(shape.C * host_model::volume(shape.filter));
    p.row_pieces = make_fast_divisor(wide / copied_vector);
    p.pieces     = static_cast<int>(rows * (wide / copied_vector));
    p.channels   = make_fast_divisor(shape.C);
    fill_divisors(p.taps, shape.filter);
    fill_divisors(p.positions, shape.output);
    fill_sizes(p.length, shape.input);
    fill_sizes(p.stride, shape.stride);
    fill_sizes(p.dilation, shape.dilation);
    fill_sizes(p.pad, shape.left_pad);
    const bool flat       = shape.filter[0] == 1 && shape.input[0] == 1 && shape.output[0] == 1;
    const unsigned blocks = blocks_of(p.pieces);
    if(flat) { gather_columns<2><<<blocks, rearranging_threads, 0, stream>>>(p); }
    else
    {
        gather_columns<3><<<blocks, rearranging_threads, 0, stream>>>(p);
    }
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
