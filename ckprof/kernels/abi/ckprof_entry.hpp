// SPDX-License-Identifier: MIT
//
// From a launcher of a convolution to its row in the table of a kernel library.
//
// Every kernel's translation unit includes this file behind the kernel's header, which declares CK
// Tile.
#ifndef CKPROF_ENTRY_HPP
#define CKPROF_ENTRY_HPP

#include <stdexcept>
#include <vector>

#include "ckprof_kernel_entry.hpp"

namespace ckprof::entry {

using lengths = std::vector<ck_tile::long_index_t>;

CKPROF_COLD inline lengths spatial(const int64_t* values, int32_t ndim)
{ return lengths(values, values + ndim); }

CKPROF_COLD inline ck_tile::conv::ConvParam conv_param(const ckprof_problem& problem)
{
    if(problem.ndim < 1 || problem.ndim > 3)
        throw std::invalid_argument("a problem has 1, 2 or 3 spatial dimensions");
    return ck_tile::conv::ConvParam(problem.ndim,
                                    problem.groups,
                                    problem.batch,
                                    problem.out_channels,
                                    problem.in_channels,
                                    spatial(problem.filter, problem.ndim),
                                    spatial(problem.input, problem.ndim),
                                    spatial(problem.strides, problem.ndim),
                                    spatial(problem.dilations, problem.ndim),
                                    spatial(problem.left_pads, problem.ndim),
                                    spatial(problem.right_pads, problem.ndim));
}

struct convolution
{
    using param = ck_tile::conv::ConvParam;

    static param make_param(const ckprof_problem& problem) { return conv_param(problem); }

    template <typename Launcher>
    static constexpr int spatial_dimensions()
    { return Launcher::NDimSpatial; }

    template <typename HostArgs>
    static HostArgs make_args(const param& problem, const ckprof_buffers& buffers, int k_batch)
    { return HostArgs(problem, buffers.input, buffers.weight, {}, buffers.output, k_batch); }
};

template <typename Launcher, typename HostArgs>
constexpr ckprof_kernel table_row(const char* key, const char* name)
{ return table_row_of<convolution, Launcher, HostArgs>(key, name); }

} // namespace ckprof::entry

#endif
