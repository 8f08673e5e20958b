// SPDX-License-Identifier: MIT
//
// The traits of a grouped convolution for headers of July and November 2025.
#ifndef CKPROF_CONV_TRAITS_HPP
#define CKPROF_CONV_TRAITS_HPP

#include "ck_tile/ops/grouped_convolution.hpp"

// of targets that have it
#if __has_include("ckprof_shared_loads.hpp")
#include "ckprof_shared_loads.hpp"
#endif

namespace ckprof {

// Kernels of backward data and backward weight ask the traits for a name that they do not have. One
// type for all kernels of a kind: what CK Tile instantiates from it is then compiled once for all
// of them. Traits is ck_tile::GroupedConvTraits with the arguments that it has at a level.
template <ck_tile::index_t NDimSpatial, typename Traits>
struct conv_traits : Traits
{
    static constexpr ck_tile::index_t NDimSpatial_ = NDimSpatial;
};

} // namespace ckprof

#endif
