// SPDX-License-Identifier: MIT
// Kernels that copy operands into the form that engine W takes, and results out of it.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/dependent_launch.hpp"
#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/cuda_model/rearrangement_params.hpp"

namespace ck_tile::cuda_model {

inline constexpr int rearranging_threads = 256;

// Eight elements on their way.
union copied_elements {
    std::uint16_t element[copied_vector];
    uint4 all;
};

__device__ __forceinline__ std::int64_t rearranging_thread()
{
    return static_cast<std::int64_t>(blockIdx.x) * rearranging_threads +
           static_cast<std::int64_t>(threadIdx.x);
}

template <int Vector>
__device__ __forceinline__ void widen_piece(const row_widening& p, int number)
{
    using raw        = typename raw_vector<Vector * 2>::type;
    const int row    = p.row_pieces.quotient(number);
    const int first  = p.row_pieces.remainder(number, row) * copied_vector;
    const auto* from = reinterpret_cast<const raw*>(p.from + (row * p.stride + first));
    union {
        raw part[copied_vector / Vector];
        uint4 all;
    } values;
#pragma unroll
    for(int i = 0; i < copied_vector / Vector; ++i)
    {
        values.part[i] = first + i * Vector < p.width ? from[i] : raw{};
    }
    *reinterpret_cast<uint4*>(p.to + static_cast<std::int64_t>(number) * copied_vector) =
        values.all;
}

static __global__ void __launch_bounds__(rearranging_threads)
    widen_rows(const __grid_constant__ two_widenings both)
{
    let_dependents_launch();
    const bool second     = blockIdx.x >= both.first_blocks;
    const row_widening& p = second ? both.second : both.first;
    const unsigned block  = blockIdx.x - (second ? both.first_blocks : 0);
    const unsigned number = block * rearranging_threads + threadIdx.x;
    if(number >= static_cast<unsigned>(p.pieces)) { return; }
    const int piece = static_cast<int>(number);
    if(p.vector == 4) { widen_piece<4>(p, piece); }
    else if(p.vector == 2) { widen_piece<2>(p, piece); }
    else
    {
        widen_piece<1>(p, piece);
    }
}

// Where a run of a window begins in memory, and which of its elements exist.
struct window_run
{
    std::int64_t start;
    int begin, end;
};

template <int Dimensions>
__device__ __forceinline__ window_run
find_run(const column_gathering& p, int image, const int (&origin)[3], int number)
{
    int tap[3] = {0, 0, 0}, rest = number;
    bool exists = number < p.runs;
#pragma unroll
    for(int axis = 2; axis >= 3 - Dimensions; --axis)
    {
        const int next = p.taps[axis].quotient(rest);
        tap[axis]      = p.taps[axis].remainder(rest, next);
        rest           = next;
    }
    std::int64_t line = image;
#pragma unroll
    for(int axis = 3 - Dimensions; axis < 2; ++axis)
    {
        const int at = origin[axis] + tap[axis] * p.dilation[axis];
        exists       = exists && static_cast<unsigned>(at) < static_cast<unsigned>(p.length[axis]);
        line         = line * p.length[axis] + at;
    }
    const int column = origin[2] + tap[2] * p.dilation[2];
    const int before = -column * p.channels;
    return {(line * p.length[2] + column) * p.channels,
            before > 0 ? before : 0,
            exists ? before + p.length[2] * p.channels : 0};
}

// Long: a run has at least copied_vector elements, so that a piece meets two at most.
template <int Dimensions, bool Long>
__global__ void __launch_bounds__(rearranging_threads)
    gather_columns(const __grid_constant__ column_gathering p)
{
    let_dependents_launch();
    const std::int64_t number = rearranging_thread();
    if(number >= p.pieces) { return; }
    const int row    = p.row_pieces.quotient(static_cast<int>(number));
    const int column = p.row_pieces.remainder(static_cast<int>(number), row) * copied_vector;
    int origin[3] = {0, 0, 0}, image = row;
#pragma unroll
    for(int axis = 2; axis >= 3 - Dimensions; --axis)
    {
        const int next = p.positions[axis].quotient(image);
        origin[axis]   = p.positions[axis].remainder(image, next) * p.stride[axis] - p.pad[axis];
        image          = next;
    }
    const int length = static_cast<int>(p.run.divisor);
    int run          = p.run.quotient(column);
    int at           = p.run.remainder(column, run);
    window_run own   = find_run<Dimensions>(p, image, origin, run);
    window_run next  = own;
    if(Long && at + copied_vector > length)
    {
        next = find_run<Dimensions>(p, image, origin, run + 1);
    }
    copied_elements values;
#pragma unroll
    for(int i = 0; i < copied_vector; ++i)
    {
        if(at == length)
        {
            at  = 0;
            own = Long ? next : find_run<Dimensions>(p, image, origin, ++run);
        }
        const bool exists = at >= own.begin && at < own.end;
        values.element[i] = exists ? p.from[own.start + at] : std::uint16_t{0};
        ++at;
    }
    *reinterpret_cast<uint4*>(p.to + number * copied_vector) = values.all;
}

static __global__ void __launch_bounds__(rearranging_threads)
    gather_weight_phases(const __grid_constant__ weight_phases p)
{
    const std::int64_t number = rearranging_thread();
    if(number >= p.elements) { return; }
    const int line  = p.width.quotient(static_cast<int>(number));
    const int place = p.width.remainder(static_cast<int>(number), line);
    int phase = p.channels.quotient(place), filter = line;
    const int channel = p.channels.remainder(place, phase);
    int tap[3];
    bool exists = true;
#pragma unroll
    for(int axis = 2; axis >= 0; --axis)
    {
        const int outer = p.taps[axis].quotient(filter);
        const int next  = p.strides[axis].quotient(phase);
        tap[axis] =
            p.taps[axis].remainder(filter, outer) * static_cast<int>(p.strides[axis].divisor) +
            p.strides[axis].remainder(phase, next);
        exists = exists && tap[axis] < p.filter[axis];
        filter = outer;
        phase  = next;
    }
    // Zeros behind the last phase have a phase too many.
    exists              = exists && phase == 0;
    std::int64_t offset = filter;
#pragma unroll
    for(int axis = 0; axis < 3; ++axis) { offset = offset * p.filter[axis] + tap[axis]; }
    offset       = offset * static_cast<int>(p.channels.divisor) + channel;
    p.to[number] = exists ? p.from[offset] : std::uint16_t{0};
}

static __global__ void __launch_bounds__(rearranging_threads)
    flip_weights(const __grid_constant__ weight_flip p)
{
    let_dependents_launch();
    const std::int64_t number = rearranging_thread();
    if(number >= p.elements) { return; }
    const int line          = p.width.quotient(static_cast<int>(number));
    const int channel       = p.width.remainder(static_cast<int>(number), line);
    const int tap           = p.filters.quotient(line);
    const int filter        = p.filters.remainder(line, tap);
    const std::int64_t from = std::int64_t{filter} * p.taps + (p.taps - 1 - tap);
    p.to[number] = channel < p.channels ? p.from[from * p.channels + channel] : std::uint16_t{0};
}

static __global__ void __launch_bounds__(rearranging_threads)
    spread_image_phases(const __grid_constant__ image_phases p)
{
    const std::int64_t number = rearranging_thread();
    if(number >= p.elements) { return; }
    int image         = p.channels.quotient(static_cast<int>(number));
    const int channel = p.channels.remainder(static_cast<int>(number), image);
    int position[3], phase[3];
    bool exists = true;
#pragma unroll
    for(int axis = 2; axis >= 0; --axis)
    {
        const int next = p.length[axis].quotient(image);
        const int at   = p.length[axis].remainder(image, next) + p.pad[axis];
        position[axis] = p.strides[axis].quotient(at);
        phase[axis]    = p.strides[axis].remainder(at, position[axis]);
        exists         = exists && position[axis] < p.positions[axis];
        image          = next;
    }
    std::int64_t offset = image;
#pragma unroll
    for(int axis = 0; axis < 3; ++axis) { offset = offset * p.positions[axis] + position[axis]; }
#pragma unroll
    for(int axis = 0; axis < 3; ++axis)
    {
        offset = offset * static_cast<int>(p.strides[axis].divisor) + phase[axis];
    }
    offset       = offset * static_cast<int>(p.channels.divisor) + channel;
    p.to[number] = exists ? p.from[offset] : std::uint16_t{0};
}

} // namespace ck_tile::cuda_model
