// SPDX-License-Identifier: MIT
// Layout tags. The letters of a convolution layout name its axes, the last one fastest.
#pragma once

namespace ck_tile::tensor_layout {

namespace gemm {

struct RowMajor
{ static constexpr const char* name = "RowMajor"; };
struct ColumnMajor
{ static constexpr const char* name = "ColumnMajor"; };

} // namespace gemm

namespace convolution {

// Which tensor a layout belongs to, and whether its channel axis is the fastest.
enum class tensor_role
{
    input,
    weight,
    output
};

template <tensor_role Role, int NumDimSpatial, bool ChannelsLast>
struct layout_tag
{
    static constexpr tensor_role role    = Role;
    static constexpr int num_dim_spatial = NumDimSpatial;
    static constexpr bool channels_last  = ChannelsLast;
};

struct NWGC : layout_tag<tensor_role::input, 1, true>
{ static constexpr const char* name = "NWGC"; };
struct NHWGC : layout_tag<tensor_role::input, 2, true>
{ static constexpr const char* name = "NHWGC"; };
struct NDHWGC : layout_tag<tensor_role::input, 3, true>
{ static constexpr const char* name = "NDHWGC"; };
struct NGCHW : layout_tag<tensor_role::input, 2, false>
{ static constexpr const char* name = "NGCHW"; };

struct GKXC : layout_tag<tensor_role::weight, 1, true>
{ static constexpr const char* name = "GKXC"; };
struct GKYXC : layout_tag<tensor_role::weight, 2, true>
{ static constexpr const char* name = "GKYXC"; };
struct GKZYXC : layout_tag<tensor_role::weight, 3, true>
{ static constexpr const char* name = "GKZYXC"; };
struct GKCYX : layout_tag<tensor_role::weight, 2, false>
{ static constexpr const char* name = "GKCYX"; };

struct NWGK : layout_tag<tensor_role::output, 1, true>
{ static constexpr const char* name = "NWGK"; };
struct NHWGK : layout_tag<tensor_role::output, 2, true>
{ static constexpr const char* name = "NHWGK"; };
struct NDHWGK : layout_tag<tensor_role::output, 3, true>
{ static constexpr const char* name = "NDHWGK"; };
struct NGKHW : layout_tag<tensor_role::output, 2, false>
{ static constexpr const char* name = "NGKHW"; };

} // namespace convolution
} // namespace ck_tile::tensor_layout
