// SPDX-License-Identifier: MIT
// Rows for kernels for single channels by the tensor copy engine: one thread asks for them, and
// what lies outside of an image becomes zeros. Compute capability 9.0.
#pragma once

#include <cuda.h>

#include "ck_tile/cuda_model/depthwise_weight.hpp"
#include "ck_tile/cuda_model/hopper_ptx.hpp"

namespace ck_tile::cuda_model {

// One row of the image, and the rows of a tile of gradients.
struct depthwise_maps
{ CUtensorMap image, gradients; };

template <host_model::data_type Type, typename Tile>
class box_copies
{
public:
    using stages = depthwise_stages<Type, Tile, true>;

    // Behind the rows is a barrier.
    static constexpr int bytes(const depthwise_plan& p) { return stages::bytes(p) + 8; }

    __device__ __forceinline__ box_copies(const depthwise_plan& plan,
                                          const depthwise_maps& of_images,
                                          const depthwise_place& place,
                                          std::uint32_t shared)
        : p(plan),
          maps(of_images),
          at(place),
          address(shared),
          barrier(shared + static_cast<unsigned>(stages::bytes(plan)))
    {
        if(threadIdx.x == 0)
        {
            barrier_init(barrier, 1);
            fence_before_copies();
        }
        __syncthreads();
    }

    __device__ __forceinline__ void start(const depthwise_row& rows) const
    {
        if(threadIdx.x != 0) { return; }
        const int row_bytes = stages::columns(p.warps) * stages::pixel_bytes;
        const int channel   = at.chunk * depthwise_lanes;
        barrier_expect(barrier,
                       (stages::window - rows.begin) * row_bytes + stages::gradient_bytes(p.warps));
#pragma unroll 1
        for(int i = rows.begin; i < stages::window; ++i)
        {
            const int to = stages::in_ring(p, rows.slot + i) * row_bytes;
            copy_tile(address + static_cast<unsigned>(to),
                      maps.image,
                      barrier,
                      channel,
                      at.first_element,
                      rows.element + i,
                      rows.image);
        }
        const int to = stages::ring_bytes(p) + rows.buffer * stages::gradient_bytes(p.warps);
        copy_tile(address + static_cast<unsigned>(to),
                  maps.gradients,
                  barrier,
                  channel,
                  at.first_position,
                  rows.position,
                  rows.image);
    }
    __device__ __forceinline__ void finish()
    {
        barrier_wait(barrier, parity);
        parity ^= 1u;
    }

private:
    const depthwise_plan& p;
    const depthwise_maps& maps;
    const depthwise_place& at;
    const std::uint32_t address, barrier;
    std::uint32_t parity = 0;
};

template <host_model::data_type Type, typename Tile>
__global__ void __launch_bounds__(32 * depthwise_most_warps, depthwise_resident<Tile::size>)
    depthwise_weight_boxes(const __grid_constant__ depthwise_plan p,
                           const __grid_constant__ depthwise_maps maps)
{
    extern __shared__ __align__(128) char shared[];
    let_dependents_launch();
    depthwise_walk<Type, Tile, true> walk(p, shared);
    box_copies<Type, Tile> copies(p, maps, walk.at, shared_address(shared));
    add_weights<Type, Tile>(p, shared, walk, copies);
}

} // namespace ck_tile::cuda_model
