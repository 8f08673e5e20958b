// SPDX-License-Identifier: MIT
// y = f(x) over a strided tensor of any rank.
#pragma once

#include <cstdint>

namespace ck_tile::cuda_model {

template <int Rank>
struct elementwise_params
{
    const void* input;
    void* output;
    std::int64_t total;
    std::int64_t length[Rank], from[Rank], to[Rank]; // lengths and strides, the last one fastest
};

template <typename Kernel, int Rank>
__global__ void __launch_bounds__(256)
    elementwise(const __grid_constant__ elementwise_params<Rank> p)
{
    using x_type       = typename Kernel::XDataType;
    using y_type       = typename Kernel::YDataType;
    using compute_type = typename Kernel::ComputeDataType;
    for(std::int64_t element = blockIdx.x * 256ll + threadIdx.x; element < p.total;
        element += gridDim.x * 256ll)
    {
        std::int64_t rest = element, source = 0, destination = 0;
#pragma unroll
        for(int i = Rank - 1; i >= 0; --i)
        {
            const std::int64_t next  = i == 0 ? 0 : rest / p.length[i];
            const std::int64_t place = rest - next * p.length[i];
            source += place * p.from[i];
            destination += place * p.to[i];
            rest = next;
        }
        typename Kernel::ElementWiseOperation{}(
            static_cast<y_type*>(p.output)[destination],
            static_cast<compute_type>(static_cast<const x_type*>(p.input)[source]));
    }
}

} // namespace ck_tile::cuda_model
