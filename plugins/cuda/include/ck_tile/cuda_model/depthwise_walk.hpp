// SPDX-License-Identifier: MIT
// How a block of a kernel for single channels walks down its columns of all images: rows are copied
// to shared memory once, while the tiles before are computed.
#pragma once

#include "ck_tile/cuda_model/depthwise_copies.hpp"

namespace ck_tile::cuda_model {

template <host_model::data_type Type, typename Tile, bool Gradients>
class depthwise_walk
{
public:
    using element = stored_t<Type>;
    using stages  = depthwise_stages<Type, Tile, Gradients>;

    const depthwise_place at;
    int channel;        // the lane's
    int first_position; // the warp's first column

    __device__ __forceinline__ depthwise_walk(const depthwise_plan& plan, char* shared)
        : at(depthwise_place::of_thread<Tile>(plan)),
          p(plan),
          memory(shared)
    {
        channel        = at.chunk * depthwise_lanes + at.lane;
        first_position = at.first_position + at.warp * Tile::columns;
        columns        = stages::columns(p.warps);
    }

    // Calls compute(image, first row of positions) for each row of tiles; rows that it reads by
    // row() and gradients() are in shared memory then.
    template <typename Copies, typename Compute>
    __device__ __forceinline__ void run(Copies& copies, const Compute& compute)
    {
        // The first parts have one more if they cannot be the same.
        const int tiles = p.images * p.row_tiles, each = tiles / p.parts, rest = tiles % p.parts;
        const int begin = at.part * each + (at.part < rest ? at.part : rest);
        const int end   = begin + each + (at.part < rest ? 1 : 0);
        int number = begin / p.row_tiles, tile = begin % p.row_tiles; // what is copied
        int computed = 0, computed_row = 0;                           // image, first position
        bool anew = true; // In another image no row is known.
        slot = buffer = 0;
#pragma unroll 1
        for(int index = begin; index <= end; ++index)
        {
            const int position = p.first_position[0] + tile * Tile::rows;
            const int row      = p.first_element[0] + tile * stages::advance;
            const int hidden   = anew && tile == 0 ? p.hidden : 0;
            const int known    = anew ? hidden : stages::window - stages::advance;
            const int next_slot =
                stages::in_ring(p, slot + (anew ? stages::window - hidden : stages::advance));
            if(index < end) { copies.start({number, row, position, next_slot, known, 1 - buffer}); }
            if(index > begin) { compute(computed, computed_row); }
            if(index == end) { break; }
            slot         = next_slot;
            buffer       = 1 - buffer;
            computed     = number;
            computed_row = position;
            first_row    = row;
            ++tile;
            anew = tile == p.row_tiles;
            if(anew)
            {
                tile = 0;
                ++number;
            }
            copies.finish();
            __syncthreads();
        }
    }

    // Whether the image has rows [begin, end) of the window, or some of them. Those at the edges
    // often lie outside of it all together; a branch for each row would cost more than it saves.
    __device__ __forceinline__ bool has_rows(int begin, int end) const
    { return first_row + end > 0 && first_row + begin < p.length[0]; }

    // The warp's window: its row, at the lane's channel; neighbours are depthwise_lanes apart.
    __device__ __forceinline__ const element* row(int number) const
    {
        const int place =
            stages::in_ring(p, slot + number) * columns + at.warp * Tile::advance(Tile::columns);
        return reinterpret_cast<const element*>(memory + place * stages::pixel_bytes) + at.lane;
    }
    // The gradients of the warp's positions of a row, likewise.
    __device__ __forceinline__ const element* gradients(int number) const
    {
        const int place = (buffer * Tile::rows + number) * stages::gradient_columns(p.warps) +
                          at.warp * Tile::columns;
        return reinterpret_cast<const element*>(memory + stages::ring_bytes(p) +
                                                place * stages::pixel_bytes) +
               at.lane;
    }

private:
    const depthwise_plan& p;
    char* const memory;
    int columns;   // in shared memory
    int slot;      // the window's first row in the ring
    int buffer;    // of gradients
    int first_row; // of the image, in the window
};

// Calls add(value, i, j, y, x) for the elements in rows [Begin, End) of the warp's window, each
// once for every position (i, j) that it reaches, by tap (y, x).
template <host_model::data_type Type,
          typename Tile,
          int Begin,
          int End,
          typename Walk,
          typename Add>
__device__ __forceinline__ void add_rows(const Walk& walk, const Add& add)
{
#pragma unroll
    for(int row = Begin; row < End; ++row)
    {
        const auto* from = walk.row(row);
#pragma unroll
        for(int column = 0; column < Tile::window(Tile::columns); ++column)
        {
            const float value = widen<Type>(from[column * depthwise_lanes]);
#pragma unroll
            for(int i = 0; i < Tile::rows; ++i)
            {
                const int y = Tile::tap(i, row);
                if(y < 0 || y >= Tile::size) { continue; }
#pragma unroll
                for(int j = 0; j < Tile::columns; ++j)
                {
                    const int x = Tile::tap(j, column);
                    if(x >= 0 && x < Tile::size) { add(value, i, j, y, x); }
                }
            }
        }
    }
}

// The same for all rows that the image has some of.
template <host_model::data_type Type, typename Tile, typename Walk, typename Add>
__device__ __forceinline__ void add_window(const Walk& walk, const Add& add)
{
    constexpr int window = Tile::window(Tile::rows), edge = Tile::window_edge;
    if(walk.has_rows(0, edge)) { add_rows<Type, Tile, 0, edge>(walk, add); }
    add_rows<Type, Tile, edge, window - edge>(walk, add);
    if(walk.has_rows(window - edge, window))
    {
        add_rows<Type, Tile, window - edge, window>(walk, add);
    }
}

} // namespace ck_tile::cuda_model
