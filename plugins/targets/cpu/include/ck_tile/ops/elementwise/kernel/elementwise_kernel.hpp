// SPDX-License-Identifier: MIT
// y = f(x) over a strided tensor of any rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ck_tile/core/container/tuple.hpp"
#include "ck_tile/core/utility/hip_types.hpp"
#include "ck_tile/host_model/grid.hpp"

namespace ck_tile {

// One block handles BlockTile consecutive elements in the row-major order of the lengths. Grid: x
// only.
template <typename Problem_, typename Policy_>
struct ElementWiseKernel
{
    using Problem              = Problem_;
    using XDataType            = typename Problem::XDataType;
    using ComputeDataType      = typename Problem::ComputeDataType;
    using YDataType            = typename Problem::YDataType;
    using ElementWiseOperation = typename Problem::ElementWiseOperation;

    static constexpr index_t kBlockSize = Problem::BlockShape::kBlockSize;

    static dim3 BlockSize() { return dim3(kBlockSize); }

    // Any shape is handled at this level.
    template <typename... Lengths>
    static bool IsSupportedArgument(const tuple<Lengths...>&)
    { return true; }

    template <typename... Lengths, typename... InStrides, typename... OutStrides, typename Input>
    void operator()(const host_model::block_position& block,
                    const tuple<Lengths...>& lengths,
                    const tuple<InStrides...>& input_strides,
                    const tuple<OutStrides...>& output_strides,
                    const tuple<Input>& inputs,
                    YDataType* output) const
    {
        constexpr std::size_t rank = sizeof...(Lengths);
        static_assert(sizeof...(InStrides) == rank && sizeof...(OutStrides) == rank);
        const auto as_array = []<typename... Values>(const std::tuple<Values...>& values) {
            return std::apply(
                [](const auto&... value) {
                    return long_array<rank>{{static_cast<std::int64_t>(value)...}};
                },
                values);
        };
        const auto length = as_array(lengths);
        const auto from   = as_array(input_strides);
        const auto to     = as_array(output_strides);

        std::int64_t total = 1;
        for(std::size_t i = 0; i < rank; ++i) { total *= length.at[i]; }
        const std::int64_t begin = std::int64_t{block.x} * Problem::BlockShape::kBlockM;
        const std::int64_t end =
            std::min<std::int64_t>(total, begin + Problem::BlockShape::kBlockM);
        const XDataType* input = std::get<0>(inputs);
        for(std::int64_t element = begin; element < end; ++element)
        {
            std::int64_t rest = element, source = 0, destination = 0;
            for(std::size_t i = rank; i-- > 0;)
            {
                source += rest % length.at[i] * from.at[i];
                destination += rest % length.at[i] * to.at[i];
                rest /= length.at[i];
            }
            ElementWiseOperation{}(output[destination],
                                   static_cast<ComputeDataType>(input[source]));
        }
    }

private:
    template <std::size_t N>
    struct long_array
    {
        std::int64_t at[N];
    };
};

} // namespace ck_tile
