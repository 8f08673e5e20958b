// SPDX-License-Identifier: MIT
// What is done with the elements of a convolution's sums before they are stored.
#pragma once

#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ck_tile/host_model/data_type.hpp"

namespace ck_tile::host_model {

inline constexpr int most_combined_tensors = 5;

// Makes count neighbouring elements of e from those of the sums and of the D tensors. Sums are e
// itself where they were rounded to its type before; see sum_of.
using combine_run = void (*)(
    const void* functor, void* e, const void* sums, const void* const* d, std::int64_t count);

// What is combined: sums in the type of the result, unless it has 8 bits, which hold too little of
// them.
template <typename E, typename Acc>
using sum_of = std::conditional_t<sizeof(E) == 1, Acc, E>;

// What the epilogue of a kernel type is, as plain data.
struct elementwise_facts
{
    combine_run combine; // null: sums are stored as they are
    int d_count;
    const char* d_layouts[most_combined_tensors];
    data_type d_types[most_combined_tensors];
};

// What it is called with.
struct elementwise_call
{
    const void* d[most_combined_tensors];
    // A D tensor has an element per channel of all groups, in the place of one per element of the
    // result.
    bool d_per_channel[most_combined_tensors];
    alignas(8) unsigned char functor[64];

    template <typename Functor>
    void set_functor(const Functor& given)
    {
        static_assert(std::is_trivially_copyable_v<Functor> && sizeof(Functor) <= sizeof(functor),
                      "the functor has more than a few numbers");
        // one without numbers has a byte that nothing has set
        if constexpr(!std::is_empty_v<Functor>) std::memcpy(functor, &given, sizeof(Functor));
    }
};

template <typename Functor, typename E, typename Sum, typename Ds, std::size_t... I>
void combine_elements(
    const void* functor, void* e, const void* sums, const void* const* d, std::int64_t count)
{
    const Functor& combine = *static_cast<const Functor*>(functor);
    E* const results       = static_cast<E*>(e);
    for(std::int64_t i = 0; i < count; ++i)
    {
        const Sum sum = static_cast<const Sum*>(sums)[i];
        combine(results[i], sum, static_cast<const std::tuple_element_t<I, Ds>*>(d[I])[i]...);
    }
}

// Layouts are those of convolutions, or of one element per channel.
template <typename Functor,
          typename E,
          typename Sum,
          typename Ds,
          typename Layouts,
          std::size_t... I>
constexpr elementwise_facts make_elementwise_facts(std::index_sequence<I...>)
{
    static_assert(sizeof...(I) <= most_combined_tensors, "too many D tensors");
    elementwise_facts facts{};
    facts.combine = &combine_elements<Functor, E, Sum, Ds, I...>;
    facts.d_count = static_cast<int>(sizeof...(I));
    ((facts.d_layouts[I] = std::tuple_element_t<I, Layouts>::name,
      facts.d_types[I]   = data_type_of<std::tuple_element_t<I, Ds>>::value),
     ...);
    return facts;
}

} // namespace ck_tile::host_model
