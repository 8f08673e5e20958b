// SPDX-License-Identifier: MIT
// Groups with few channels are computed several at a time: as one group with all their channels,
// whose weights are zero wherever input and output channel belong to different groups. In memory
// the images stay what they are.
#pragma once

#include <cstdint>

#include "ck_tile/host_model/backward_data.hpp"
#include "ck_tile/host_model/backward_weight.hpp"
#include "ck_tile/host_model/conv_shape.hpp"
#include "ck_tile/host_model/forward.hpp"

namespace ck_tile::cuda_model {

// As many groups as a copy of 64 channels brings; 1 if they cannot be joined.
constexpr int groups_to_join(const host_model::conv_shape& s)
{
    const std::int64_t channels = s.C > s.K ? s.C : s.K;
    int joined                  = 1;
    while(s.G % (joined * 2) == 0 && joined * 2 * channels <= 64) { joined *= 2; }
    return joined;
}

// So many channels of the joined group, 16 or 32, depend on no others than the same ones: groups
// begin at multiples of what they have, which is the same in and out. 0: on more.
inline int dependent_channels(const host_model::conv_shape& s, int joined)
{
    if(joined == 1 || s.C != s.K) { return 0; }
    return 16 % s.C == 0 ? 16 : 32 % s.C == 0 ? 32 : 0;
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
    int joined;
    int k, taps, c; // per group, as they were
    std::int64_t elements;
};

#if defined(__CUDACC__)
// A template, so that every translation unit may have it.
template <typename Element>
__global__ void __launch_bounds__(256) expand_weights(const __grid_constant__ expansion<Element> e)
{
    const int wide = e.c * e.joined;
    for(std::int64_t i = blockIdx.x * 256ll + threadIdx.x; i < e.elements; i += gridDim.x * 256ll)
    {
        const int column          = static_cast<int>(i % wide);
        const std::int64_t line   = i / wide; // (g, k, tap) of the weights as they were
        const std::int64_t filter = line / e.taps;
        const int group           = static_cast<int>(filter / e.k % e.joined);
        e.to[i] = column / e.c == group ? e.from[line * e.c + column % e.c] : Element{0};
    }
}
#endif

} // namespace ck_tile::cuda_model
