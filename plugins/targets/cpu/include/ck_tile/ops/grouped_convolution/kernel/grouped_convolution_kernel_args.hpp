// SPDX-License-Identifier: MIT
// The part of the kernel arguments that all directions share.
#pragma once

#include "ck_tile/core/container/array.hpp"
#include "ck_tile/host/convolution_parameter.hpp"

namespace ck_tile {

// Lengths as the GPU sees them, in 32 bits: (g,n,c,spatial), (g,k,c,filter), (g,n,k,spatial).
template <index_t NDimSpatial>
struct GroupedConvLengths
{
    array<index_t, NDimSpatial + 3> in_g_n_c_wis_lengths;
    array<index_t, NDimSpatial + 3> wei_g_k_c_xs_lengths;
    array<index_t, NDimSpatial + 3> out_g_n_k_wos_lengths;
    array<index_t, NDimSpatial> conv_filter_strides;
    array<index_t, NDimSpatial> conv_filter_dilations;
    array<index_t, NDimSpatial> input_left_pads;
    array<index_t, NDimSpatial> input_right_pads;

    explicit GroupedConvLengths(const conv::ConvParam& param)
    {
        const auto narrow        = [](long_index_t value) { return static_cast<index_t>(value); };
        in_g_n_c_wis_lengths[0]  = narrow(param.G_);
        in_g_n_c_wis_lengths[1]  = narrow(param.N_);
        in_g_n_c_wis_lengths[2]  = narrow(param.C_);
        wei_g_k_c_xs_lengths[0]  = narrow(param.G_);
        wei_g_k_c_xs_lengths[1]  = narrow(param.K_);
        wei_g_k_c_xs_lengths[2]  = narrow(param.C_);
        out_g_n_k_wos_lengths[0] = narrow(param.G_);
        out_g_n_k_wos_lengths[1] = narrow(param.N_);
        out_g_n_k_wos_lengths[2] = narrow(param.K_);
        for(index_t i = 0; i < NDimSpatial; ++i)
        {
            const auto at                = static_cast<std::size_t>(i);
            in_g_n_c_wis_lengths[i + 3]  = narrow(param.input_spatial_lengths_[at]);
            wei_g_k_c_xs_lengths[i + 3]  = narrow(param.filter_spatial_lengths_[at]);
            out_g_n_k_wos_lengths[i + 3] = narrow(param.output_spatial_lengths_[at]);
            conv_filter_strides[i]       = narrow(param.conv_filter_strides_[at]);
            conv_filter_dilations[i]     = narrow(param.conv_filter_dilations_[at]);
            input_left_pads[i]           = narrow(param.input_left_pads_[at]);
            input_right_pads[i]          = narrow(param.input_right_pads_[at]);
        }
    }
};

} // namespace ck_tile
