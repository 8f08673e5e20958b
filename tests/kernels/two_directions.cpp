// SPDX-License-Identifier: MIT
#include <iostream>
#include <stdexcept>

#include "register_bwd_data_kernels.hpp"
#include "register_fwd_kernels.hpp"

int main()
{
    ckprof::registry kernels;
    ckprof::register_fwd_kernels(kernels);
    ckprof::register_bwd_data_kernels(kernels);
    for(const auto& one : kernels)
        std::cout << one.name() << ' ' << one.arch << ' ' << one.field("tile_m") << '\n';
    const auto forward_2d  = kernels.select({{"direction", "fwd"}, {"ndim", "2"}});
    ckprof_problem problem = {};
    problem.ndim           = 2;
    problem.split_k = problem.groups = problem.batch = problem.out_channels = problem.in_channels =
        1;
    for(int axis = 0; axis < 2; ++axis)
        problem.filter[axis] = problem.input[axis] = problem.strides[axis] =
            problem.dilations[axis]                = 1;
    std::cout << forward_2d.size() << ' ' << kernels.supporting(problem).size() << ' '
              << (kernels.find(forward_2d[0]->name()) == forward_2d[0]) << '\n';
    try
    {
        ckprof::register_fwd_kernels(kernels);
    }
    catch(const std::invalid_argument& error)
    {
        std::cout << error.what() << '\n';
    }
}
