// SPDX-License-Identifier: MIT
// Which problems a depthwise kernel supports, and its texts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "ck_tile/host_model/depthwise.hpp"
#include "ck_tile/host_model/impl/kernel_text.hpp"
#include "ck_tile/host_model/impl/support.hpp"

namespace ck_tile::host_model {

CK_TILE_HOST_MODEL_API bool supports_depthwise(const depthwise_facts& f, const conv_shape& shape)
{
    using namespace impl;
    clear_rejection();
    if(!check_sizes(shape) || !check_strides(shape)) { return false; }

    const int at_once = f.tiles_at_once();
    const int vector  = std::min(f.in_vector, 4);
    // Rejects, and says whether the test ends here.
    const auto ends = [](const char* condition, const std::string& reason) {
        return !reject(condition, reason);
    };
    if(current_device().lanes != 64 &&
       ends("wave-size",
            "depthwise kernels need waves of 64; the device is " + current_device().name))
    {
        return false;
    }
    if((at_once < 1 || f.batch % at_once != 0) &&
       ends("batch",
            equation("the batch per block", f.batch) + " is not a multiple of the " +
                std::to_string(at_once) + " tiles per wave"))
    {
        return false;
    }
    if(f.sub_tile[1] * f.stride[1] % vector != 0 &&
       ends("row-access",
            "sub-tile width times stride = " + std::to_string(f.sub_tile[1] * f.stride[1]) +
                " is not a multiple of the input vector " + std::to_string(vector)))
    {
        return false;
    }
    if(!check_at_least("pad", "the kernel's width pad", f.pad[1], 1)) { return false; }
    if((f.lds_columns() + f.in_vector - 1) / f.in_vector > f.block_size &&
       ends("row-access",
            "a staged row of " + std::to_string(f.lds_columns()) + " elements needs more than " +
                std::to_string(f.block_size) + " threads"))
    {
        return false;
    }
    if(f.smem_bytes() > current_device().lds_bytes &&
       ends("lds",
            std::to_string(f.smem_bytes()) + " bytes of local memory, the device has " +
                std::to_string(current_device().lds_bytes)))
    {
        return false;
    }
    // Not tested by CK Tile, which then leaves outputs unwritten or reads past a pair.
    if(f.sub_tile[1] % std::min(f.out_vector, 4) != 0 &&
       ends("row-access",
            "sub-tile width " + std::to_string(f.sub_tile[1]) +
                " is not a multiple of the output vector " +
                std::to_string(std::min(f.out_vector, 4))))
    {
        return false;
    }
    if(f.stride[1] != 1 && f.stride[1] % 2 != 0 &&
       ends("stride", "the width stride " + std::to_string(f.stride[1]) + " is neither 1 nor even"))
    {
        return false;
    }

    const auto equal =
        [](const char* condition, const std::string& what, std::int64_t got, std::int64_t wanted) {
            return got == wanted ||
                   reject(condition,
                          equation(what, got) + ", the kernel is for " + std::to_string(wanted));
        };
    if(!equal("channels", "K", shape.K, 1) || !equal("channels", "C", shape.C, 1)) { return false; }
    for(int i = 0; i < 2; ++i)
    {
        const int axis = i + 1;
        if(!equal("filter", axis_name("filter", axis), shape.filter[axis], f.filter[i]) ||
           !equal("stride", axis_name("stride", axis), shape.stride[axis], f.stride[i]) ||
           !equal("dilation", axis_name("dilation", axis), shape.dilation[axis], f.dilation[i]) ||
           !equal("pad", axis_name("left pad", axis), shape.left_pad[axis], f.pad[i]))
        {
            return false;
        }
    }
    if(shape.N % f.batch != 0 && ends("batch",
                                      equation("N", shape.N) + " is not a multiple of the " +
                                          std::to_string(f.batch) + " images per block"))
    {
        return false;
    }
    if(at_once != 1 && (shape.output[1] > f.tile[0] || shape.output[2] > f.tile[1]) &&
       ends("single-tile",
            "output " + std::to_string(shape.output[1]) + "x" + std::to_string(shape.output[2]) +
                " exceeds the single tile " + times(f.tile[0], f.tile[1])))
    {
        return false;
    }
    all_conditions_tested();
    return true;
}

CK_TILE_HOST_MODEL_API std::string instance_string(const depthwise_facts& f)
{
    impl::field_list fields(',');
    fields << f.num_dim_spatial << "Default" << "Depthwise" << f.in_vector << f.in_vector
           << f.out_vector << f.block_size << f.tile[0] << f.tile[1] << f.filter[0] << f.filter[1]
           << f.stride[0] << f.stride[1] << f.batch << f.sub_tile[0] << f.sub_tile[1]
           << name_of(f.in_type) << name_of(f.wei_type) << "fp32" << name_of(f.out_type);
    return "GroupedConvolutionForwardKernel<" + fields.text() + ">";
}

CK_TILE_HOST_MODEL_API std::string kernel_name(const depthwise_facts& f)
{
    impl::field_list tokens('_');
    tokens << "grouped_convolution_forward_depthwise" << name_of(f.in_type) << "bs" << f.block_size
           << "th" << f.tile[0] << "tw" << f.tile[1] << "fh" << f.filter[0] << "fw" << f.filter[1]
           << "sh" << f.stride[0] << "sw" << f.stride[1] << "nb" << f.batch << "sbh"
           << f.sub_tile[0] << "sbw" << f.sub_tile[1] << "iv" << f.in_vector << "ov"
           << f.out_vector;
    return tokens.text();
}

} // namespace ck_tile::host_model
