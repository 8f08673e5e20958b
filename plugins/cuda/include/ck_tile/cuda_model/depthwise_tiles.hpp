// SPDX-License-Identifier: MIT
// The tiles of warps in kernels for single channels, as measured on an H200: larger ones read and
// convert an element for more products, until registers or shared memory hold too few warps.
#pragma once

#include "ck_tile/cuda_model/depthwise_plan.hpp"
#include "ck_tile/host_model/kernel_facts.hpp"

namespace ck_tile::cuda_model {

// Rows of wide elements, or of windows that move on by two, are fewer in shared memory.
template <host_model::data_type Type, int Stride>
inline constexpr int depthwise_rows = Stride == 2 || host_model::size_of(Type) == 4 ? 2 : 4;

template <host_model::data_type Type, int Stride, int Size>
using depthwise_weight_tile = depthwise_gather<Stride, Size, depthwise_rows<Type, Stride>, 7>;

template <host_model::data_type Type, int Stride, int Size>
using depthwise_image_tile = depthwise_gather<Stride, Size, depthwise_rows<Type, Stride>, 7>;

template <int Size>
using depthwise_scatter_tile = depthwise_scatter<2, Size, 4, Size == 7 ? 8 : 16>;

} // namespace ck_tile::cuda_model
