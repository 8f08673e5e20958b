// SPDX-License-Identifier: MIT
// The second kernel of weight gradients whose blocks leave partial sums: adds them in a fixed order
// and converts the result.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/dependent_launch.hpp"
#include "ck_tile/cuda_model/element.hpp"

namespace ck_tile::cuda_model {

inline constexpr int part_adders = 8; // warps that share the parts of a sum

// Place says which element of the result a sum is; negative if none.
template <typename Place>
struct parts_to_add
{
    const float* partial; // part, sum
    void* result;
    std::int64_t sums;
    int parts;
    Place place;
};

// A block adds 32 neighbouring sums.
template <host_model::data_type Type, bf16_rounding_mode Rounding, typename Place>
__global__ void __launch_bounds__(32 * part_adders)
    add_parts(const __grid_constant__ parts_to_add<Place> p)
{
    extern __shared__ __align__(128) char shared[];
    auto* sums                = reinterpret_cast<float (*)[32]>(shared);
    const int lane            = static_cast<int>(threadIdx.x) % 32;
    const int adder           = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
    float sum                 = 0.f;
    wait_for_kernel_before();
    if(number < p.sums)
    {
#pragma unroll 8
        for(int part = adder; part < p.parts; part += part_adders)
        {
            sum += p.partial[part * p.sums + number];
        }
    }
    sums[adder][lane] = sum;
    __syncthreads();
    if(adder != 0 || number >= p.sums) { return; }
    for(int other = 1; other < part_adders; ++other) { sum += sums[other][lane]; }
    const std::int64_t at = p.place(number);
    if(at >= 0) { static_cast<stored_t<Type>*>(p.result)[at] = narrow<Type, Rounding>(sum); }
}

} // namespace ck_tile::cuda_model
