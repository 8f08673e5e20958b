// SPDX-License-Identifier: MIT
// What the kernels that rearrange operands are told. Usable without a GPU.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/fast_divisor.hpp"
#include "ck_tile/cuda_model/operand_rearrangement.hpp"

namespace ck_tile::cuda_model {

// Rows of `width` elements, `stride` apart, become rows of more, a multiple of copied_vector.
struct row_widening
{
    const std::uint16_t* from;
    std::uint16_t* to;
    int width;
    std::int64_t stride;
    int vector;              // elements that are read at once: 1, 2 or 4
    fast_divisor row_pieces; // of copied_vector elements
    int pieces;              // of all rows
};

// Two operands are copied by the blocks of one kernel.
struct two_widenings
{
    row_widening first, second;
    unsigned first_blocks;
};

// Windows become rows, in the order of weights: channels of a pixel, taps along W, along H, along
// D. A run is what a window has of one line of memory.
struct column_gathering
{
    const std::uint16_t* from;
    std::uint16_t* to;
    fast_divisor row_pieces;
    int pieces;
    fast_divisor run; // elements
    int runs;         // of a window
    int channels;
    fast_divisor taps[3]; // along W, those of a run count as one
    fast_divisor positions[3];
    int length[3], stride[3], dilation[3], pad[3];
};

// Phases of weights (filter, tap, channel) become channels.
struct weight_phases
{
    const std::uint16_t* from;
    std::uint16_t* to;
    int elements;            // of the result
    fast_divisor width;      // of a row, with the zeros behind it
    fast_divisor channels;   // of a phase
    fast_divisor taps[3];    // of the result
    fast_divisor strides[3]; // phases
    int filter[3];
};

// Weights (filter, tap, channel) as lines (tap from the last one on, filter) of channels.
struct weight_flip
{
    const std::uint16_t* from;
    std::uint16_t* to;
    int elements;       // of the result
    fast_divisor width; // of a line, with the zeros behind it
    fast_divisor filters;
    int taps, channels;
};

// Channels of a result become phases of an image.
struct image_phases
{
    const std::uint16_t* from;
    std::uint16_t* to;
    std::int64_t elements; // of the image
    fast_divisor channels;
    fast_divisor length[3];
    fast_divisor strides[3];
    int pad[3];
    int positions[3];
};

// Rows of so many elements of 16 bits, `stride` apart, that become rows of `wide`, a multiple of
// copied_vector; none if there are no rows.
struct rows_to_widen
{
    const void* from    = nullptr;
    std::int64_t rows   = 0;
    std::int64_t width  = 0;
    std::int64_t stride = 0;
    std::int64_t wide   = 0;

    constexpr std::int64_t elements() const { return rows * wide; } // of the copy
};

namespace impl {

inline void fill_divisors(fast_divisor (&to)[3], const std::int64_t (&values)[3])
{
    for(int axis = 0; axis < 3; ++axis) { to[axis] = make_fast_divisor(values[axis]); }
}

inline void fill_lengths(int (&to)[3], const std::int64_t (&values)[3])
{
    for(int axis = 0; axis < 3; ++axis) { to[axis] = static_cast<int>(values[axis]); }
}

} // namespace impl

inline row_widening make_row_widening(const rows_to_widen& r, void* to)
{
    row_widening p{};
    if(r.rows == 0) { return p; }
    p.from             = static_cast<const std::uint16_t*>(r.from);
    p.to               = static_cast<std::uint16_t*>(to);
    p.width            = static_cast<int>(r.width);
    p.stride           = r.stride;
    p.row_pieces       = make_fast_divisor(r.wide / copied_vector);
    p.pieces           = static_cast<int>(r.elements() / copied_vector);
    const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(r.from));
    const auto all_fit = [&](std::int64_t vector) {
        return (r.width | r.stride) % vector == 0 && address % (2 * vector) == 0;
    };
    p.vector = all_fit(4) ? 4 : all_fit(2) ? 2 : 1;
    return p;
}

// Elements of the copy.
inline std::int64_t
column_elements(const host_model::conv_shape& shape, bool backward_data, std::int64_t wide)
{ return shape.N * host_model::volume(backward_data ? shape.input : shape.output) * wide; }

// Windows of the image that is read as rows of `wide` elements.
inline column_gathering make_column_gathering(const host_model::conv_shape& shape,
                                              bool backward_data,
                                              const void* image,
                                              void* to,
                                              std::int64_t wide)
{
    const std::int64_t depth = backward_data ? shape.K : shape.C;
    column_gathering p{};
    p.from       = static_cast<const std::uint16_t*>(image);
    p.to         = static_cast<std::uint16_t*>(to);
    p.row_pieces = make_fast_divisor(wide / copied_vector);
    p.pieces     = static_cast<int>(column_elements(shape, backward_data, wide) / copied_vector);
    p.channels   = static_cast<int>(depth);
    // Pixels side by side are one run.
    const bool dense       = shape.dilation[2] == 1;
    const std::int64_t run = dense ? depth * shape.filter[2] : depth;
    p.run                  = make_fast_divisor(run);
    p.runs                 = static_cast<int>(depth * host_model::volume(shape.filter) / run);
    impl::fill_divisors(p.taps, shape.filter);
    if(dense) { p.taps[2] = make_fast_divisor(1); }
    impl::fill_divisors(p.positions, backward_data ? shape.input : shape.output);
    impl::fill_lengths(p.length, backward_data ? shape.output : shape.input);
    impl::fill_lengths(p.stride, shape.stride);
    impl::fill_lengths(p.dilation, shape.dilation);
    impl::fill_lengths(p.pad, shape.left_pad);
    for(int axis = 0; backward_data && axis < 3; ++axis)
    {
        // The window of an element of the input begins with the last tap.
        p.pad[axis] = p.dilation[axis] * static_cast<int>(shape.filter[axis] - 1) - p.pad[axis];
    }
    return p;
}

// Weights of the problem for columns of output gradients.
inline weight_flip make_weight_flip(const host_model::conv_shape& shape,
                                    const operand_rearrangement& plan,
                                    const void* weights,
                                    void* to)
{
    weight_flip p{};
    p.from     = static_cast<const std::uint16_t*>(weights);
    p.to       = static_cast<std::uint16_t*>(to);
    p.elements = static_cast<int>(plan.shape.K * plan.other_channels);
    p.width    = make_fast_divisor(plan.other_channels);
    p.filters  = make_fast_divisor(shape.K);
    p.taps     = static_cast<int>(host_model::volume(shape.filter));
    p.channels = static_cast<int>(shape.C);
    return p;
}

// Weights of the problem for the shape that a plan of phases has.
inline weight_phases make_weight_phases(const host_model::conv_shape& shape,
                                        const operand_rearrangement& plan,
                                        const void* weights,
                                        void* to)
{
    weight_phases p{};
    p.from = static_cast<const std::uint16_t*>(weights);
    p.to   = static_cast<std::uint16_t*>(to);
    p.elements =
        static_cast<int>(shape.K * host_model::volume(plan.shape.filter) * plan.other_channels);
    p.width    = make_fast_divisor(plan.other_channels);
    p.channels = make_fast_divisor(shape.C);
    impl::fill_divisors(p.taps, plan.shape.filter);
    impl::fill_divisors(p.strides, shape.stride);
    impl::fill_lengths(p.filter, shape.filter);
    return p;
}

// The result of that shape, where the image wants it.
inline image_phases make_image_phases(const host_model::conv_shape& shape,
                                      const operand_rearrangement& plan,
                                      const void* phases,
                                      void* image)
{
    image_phases p{};
    p.from     = static_cast<const std::uint16_t*>(phases);
    p.to       = static_cast<std::uint16_t*>(image);
    p.elements = shape.N * host_model::volume(shape.input) * shape.C;
    p.channels = make_fast_divisor(shape.C);
    impl::fill_divisors(p.length, shape.input);
    impl::fill_divisors(p.strides, shape.stride);
    impl::fill_lengths(p.pad, shape.left_pad);
    impl::fill_lengths(p.positions, plan.shape.input);
    return p;
}

} // namespace ck_tile::cuda_model
