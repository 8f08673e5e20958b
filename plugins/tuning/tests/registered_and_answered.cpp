// SPDX-License-Identifier: MIT
#include <cstdio>

#include "ckprof_conv_api.h"
#include "register_fwd_kernels.hpp"

int main()
{
    ckprof::registry kernels;
    ckprof::register_fwd_kernels(kernels);
    for(int channels = 8; channels <= 2048; channels *= 4)
        for(int image = 1; image <= 256; image *= 4)
        {
            ckprof_problem problem = {};
            problem.ndim           = 2;
            problem.split_k = problem.groups = problem.batch = 1;
            problem.out_channels = problem.in_channels = channels;
            for(int axis = 0; axis < 2; ++axis)
            {
                problem.input[axis]  = image;
                problem.filter[axis] = problem.strides[axis] = problem.dilations[axis] = 1;
            }
            const auto* chosen = ckprof::select_fwd_kernel(kernels, problem);
            ConvProblemC same  = {};
            same.N = same.G = same.input_d = same.filter_z = same.filter_y = same.filter_x = 1;
            same.stride_d = same.stride_h = same.stride_w = 1;
            same.dilation_d = same.dilation_h = same.dilation_w = same.split_k = 1;
            same.C = same.K = channels;
            same.input_h = same.input_w = image;
            char name[512]              = "none";
            conv_dispatcher_select_kernel(&same, name, sizeof(name));
            std::printf(
                "%d %d %s %s\n", channels, image, chosen ? chosen->kernel->name : "none", name);
        }
}
