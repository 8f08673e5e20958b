// SPDX-License-Identifier: MIT
// Groups with few channels are computed several at a time: as one group with all their channels,
// whose weights are zero wherever input and output channel belong to different groups. In memory
// the images stay what they are.
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

// The call of the joined problem, with the same tensors.
template <typename Call>
Call join_groups(const host_model::kernel_facts& facts, const Call& call, int joined)
{
    if(joined == 1) { return call; }
    Call result = remake_call(facts, join_groups(call.shape, joined), call);
    result.in   = call.in;
    result.wei  = call.wei;
    result.out  = call.out;
    return result;
}

// Weights (g, k, tap, c) of `joined` groups at a time become (g', k', tap, c').
template <typename Element>
struct expansion
{
    const Element* from;
    Element* to;
    fast_divisor joined;
    fast_divisor k, taps, c; // per group, as they were
    fast_divisor wide;       // channels of joined groups
    std::int64_t elements;
};

#if defined(__CUDACC__)
// A template, so that every translation unit may have it.
template <typename Element>
__global__ void __launch_bounds__(256) expand_weights(const __grid_constant__ expansion<Element> e)
{
    let_dependents_launch();
    const int c = static_cast<int>(e.c.divisor);
    for(std::int64_t i = blockIdx.x * 256ll + threadIdx.x; i < e.elements; i += gridDim.x * 256ll)
    {
        const int number = static_cast<int>(i);
        const int line   = e.wide.quotient(number); // (g, k, tap) of the weights as they were
        const int column = e.wide.remainder(number, line);
        const int groups = e.k.quotient(e.taps.quotient(line));
        const int group  = e.joined.remainder(groups, e.joined.quotient(groups));
        const int owner  = e.c.quotient(column);
        const bool own   = owner == group;
        e.to[i] =
            own ? e.from[static_cast<std::int64_t>(line) * c + column - owner * c] : Element{0};
    }
}
#endif

} // namespace ck_tile::cuda_model
