// SPDX-License-Identifier: MIT
// Groups with few channels are computed several at a time: as one group with all their channels,
// whose weights are zero wherever input and output channel belong to different groups. In memory
// the images stay what they are. To a filter of one pixel, neighbouring pixels are such groups as
// well, all with the same weights.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/fast_divisor.hpp"

#include "ck_tile/host_model/backward_data.hpp"
#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/forward.hpp"
#if defined(__CUDACC__)
#include "ck_tile/cuda_model/dependent_launch.hpp"
#endif

namespace ck_tile::cuda_model {

// As many groups as a copy of 64 channels brings; 1 if they cannot be joined.
constexpr int groups_to_join(const host_model::conv_shape& s)
{
    const std::int64_t channels = s.C > s.K ? s.C : s.K;
    for(int joined = channels > 0 ? static_cast<int>(64 / channels) : 1; joined > 1; --joined)
    {
        // Copies begin at multiples of 16 bytes.
        const bool aligned = s.C * joined % 8 == 0 && s.K * joined % 8 == 0;
        if(s.G % joined == 0 && aligned) { return joined; }
    }
    return 1;
}

// Whether no 16 channels of the joined group depend on others than the same 16: groups begin at
// multiples of what they have, which is the same in and out.
inline bool depend_on_few(const host_model::conv_shape& s, int joined)
{ return joined > 1 && s.C == s.K && 16 % s.C == 0; }

// As many pixels as are one with all their channels; 1 where that does not pay. It does where
// copies of 64 channels are full then, because those of lines that end early are slow; where they
// are fuller, which costs no products; and where channels are no multiple of 16 bytes, so that all
// of the image had to be copied otherwise. Each time, unless too many products are with zeros.
constexpr int pixels_to_join(host_model::direction direction, const host_model::conv_shape& s)
{
    const bool data           = direction == host_model::direction::backward_data;
    const std::int64_t copied = data ? s.K : s.C, others = data ? s.C : s.K;
    const std::int64_t pixels = s.N * host_model::volume(s.input);
    for(int axis = 0; axis < 3; ++axis)
    {
        if(s.filter[axis] != 1 || s.stride[axis] != 1 || s.left_pad[axis] != 0 ||
           s.right_pad[axis] != 0)
        {
            return 1;
        }
    }
    constexpr std::int64_t most_elements = 2147483647, few_pixels = 16384;
    constexpr std::int64_t most_zeros = 512, few_zeros = 128;
    const bool whole = copied % 8 == 0;
    if(direction == host_model::direction::backward_weight || s.G != 1 ||
       pixels > most_elements / (copied > others ? copied : others) ||
       (whole && pixels < few_pixels))
    {
        return 1;
    }
    const auto possible = [&](int joined) {
        return pixels % joined == 0 && copied * joined % 8 == 0 && s.C * joined % 8 == 0;
    };
    for(int joined = 2; joined <= 8; ++joined)
    {
        const bool few = joined * copied <= 64 || (joined - 1) * others <= few_zeros;
        if(copied % 64 != 0 && joined * copied % 64 == 0 && few && possible(joined))
        {
            return joined;
        }
    }
    for(int joined = 8; joined > 1; --joined)
    {
        if(joined * copied <= 64 && possible(joined)) { return joined; }
    }
    for(int joined = 2; joined <= 8 && !whole; ++joined)
    {
        if((joined - 1) * others <= most_zeros && possible(joined)) { return joined; }
    }
    return 1;
}

// The problem whose groups they are.
constexpr host_model::conv_shape pixels_as_groups(const host_model::conv_shape& s, int joined)
{
    host_model::conv_shape grouped;
    grouped.G = joined, grouped.N = 1, grouped.K = s.K, grouped.C = s.C;
    grouped.input[2] = grouped.output[2] = s.N * host_model::volume(s.input) / joined;
    return grouped;
}

inline host_model::conv_shape join_groups(host_model::conv_shape s, int joined)
{
    s.G /= joined;
    s.C *= joined;
    s.K *= joined;
    return s;
}

inline host_model::forward_call remake_call(const host_model::kernel_facts& facts,
                                            const host_model::conv_shape& shape,
                                            const host_model::forward_call& from)
{ return host_model::make_forward_call(facts, shape, from.k_batch); }

inline host_model::backward_data_call remake_call(const host_model::kernel_facts& facts,
                                                  const host_model::conv_shape& shape,
                                                  const host_model::backward_data_call& from)
{ return host_model::make_backward_data_call(facts, shape, from.k_batch); }

inline host_model::backward_weight_call remake_call(const host_model::kernel_facts& facts,
                                                    const host_model::conv_shape& shape,
                                                    const host_model::backward_weight_call& from)
{ return host_model::make_backward_weight_call(facts, shape, from.k_batch); }

// The call of another problem, with the same tensors.
template <typename Call>
Call call_of(const host_model::kernel_facts& facts,
             const host_model::conv_shape& shape,
             const Call& call)
{
    Call result = remake_call(facts, shape, call);
    result.in   = call.in;
    result.wei  = call.wei;
    result.out  = call.out;
    return result;
}

template <typename Call>
Call join_groups(const host_model::kernel_facts& facts, const Call& call, int joined)
{ return joined == 1 ? call : call_of(facts, join_groups(call.shape, joined), call); }

// Weights (g, k, tap, c) of `joined` groups at a time become (g', k', tap, c').
template <typename Element>
struct expansion
{
    const Element* from;
    Element* to;
    fast_divisor joined;
    fast_divisor k, taps, c; // per group, as they were
    fast_divisor lines;      // (g, k, tap) in memory: of one group where all have the same
    fast_divisor wide;       // channels of joined groups
    std::int64_t elements;

    // Where an element comes from; negative: it is zero.
    constexpr std::int64_t source(int number) const
    {
        const int line   = wide.quotient(number); // (g, k, tap)
        const int column = wide.remainder(number, line);
        const int groups = k.quotient(taps.quotient(line));
        const int group  = joined.remainder(groups, joined.quotient(groups));
        const int owner  = c.quotient(column);
        if(owner != group) { return -1; }
        return static_cast<std::int64_t>(lines.remainder(line, lines.quotient(line))) * c.divisor +
               c.remainder(column, owner);
    }
};

// Without the memory. `shared`: all groups have the weights of the first.
template <typename Element>
constexpr expansion<Element>
plan_expansion(const host_model::conv_shape& s, const void* weights, int joined, bool shared)
{
    expansion<Element> e{};
    e.from     = static_cast<const Element*>(weights);
    e.joined   = make_fast_divisor(joined);
    e.k        = make_fast_divisor(s.K);
    e.taps     = make_fast_divisor(host_model::volume(s.filter));
    e.c        = make_fast_divisor(s.C);
    e.lines    = make_fast_divisor((shared ? 1 : s.G) * s.K * host_model::volume(s.filter));
    e.wide     = make_fast_divisor(s.C * joined);
    e.elements = s.G * s.K * host_model::volume(s.filter) * s.C * joined;
    return e;
}

#if defined(__CUDACC__)
// A template, so that every translation unit may have it.
template <typename Element>
__global__ void __launch_bounds__(256) expand_weights(const __grid_constant__ expansion<Element> e)
{
    let_dependents_launch();
    for(std::int64_t i = blockIdx.x * 256ll + threadIdx.x; i < e.elements; i += gridDim.x * 256ll)
    {
        const std::int64_t source = e.source(static_cast<int>(i));
        e.to[i]                   = source < 0 ? Element{0} : e.from[source];
    }
}
#endif

} // namespace ck_tile::cuda_model
