// SPDX-License-Identifier: MIT
// Part of the model of CK Tile's dispatcher: problems.
#pragma once

#include <array>
#include <cstdint>

namespace ck_tile {
namespace dispatcher {

enum class GroupedConvOp
{
    Forward,
    BackwardData,
    BackwardWeight
};

// Axes are in the order depth, height, width; two-dimensional problems have 1 in the place of the
// depth, and no padding there. Channels reach the kernels as they are, which take those of one
// group.
struct GroupedConvProblem
{
    std::int64_t N = 1;
    std::int64_t C = 64;
    std::int64_t K = 64;
    std::int64_t G = 1;

    std::array<std::int64_t, 3> input_spatial{1, 28, 28};
    std::array<std::int64_t, 3> filter_spatial{1, 3, 3};
    std::array<std::int64_t, 3> output_spatial{1, 26, 26};
    std::array<std::int64_t, 3> stride{1, 1, 1};
    std::array<std::int64_t, 3> padding{0, 0, 0};
    std::array<std::int64_t, 3> dilation{1, 1, 1};

    GroupedConvOp op = GroupedConvOp::Forward;
    int split_k      = 1;

    void compute_output_size()
    {
        for(std::size_t i = 0; i < output_spatial.size(); ++i)
        {
            const auto extent = (filter_spatial[i] - 1) * dilation[i] + 1;
            output_spatial[i] = (input_spatial[i] + 2 * padding[i] - extent) / stride[i] + 1;
        }
    }
};

} // namespace dispatcher
} // namespace ck_tile
