// SPDX-License-Identifier: MIT
// How a block of a kernel for single channels walks down its columns of all images: rows are copied
// to shared memory once, while the tiles before are computed.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/depthwise_plan.hpp"
#include "ck_tile/cuda_model/element.hpp"
#include "ck_tile/cuda_model/ptx.hpp"

namespace ck_tile::cuda_model {

// Shared memory: a ring of the image's rows, then the gradients of two rows of tiles if these are
// read, too. Zeros are where an image has nothing.
template <host_model::data_type Type, typename Tile, bool Gradients>
struct depthwise_stages
{
    static constexpr int element_bytes = static_cast<int>(sizeof(stored_t<Type>));
    static constexpr int pixel_bytes   = depthwise_lanes * element_bytes;
    static constexpr int window        = Tile::window(Tile::rows); // rows of a tile
    static constexpr int advance       = Tile::advance(Tile::rows);
    static constexpr int ring          = 2 * window;
    static_assert(advance <= window);
    static constexpr int columns(int warps)
    { return (warps - 1) * Tile::advance(Tile::columns) + Tile::window(Tile::columns); }
    static constexpr int gradient_columns(int warps) { return warps * Tile::columns; }
    static constexpr int ring_bytes(int warps) { return ring * columns(warps) * pixel_bytes; }
    static constexpr int gradient_bytes(int warps) // of a row of tiles
    { return Gradients ? Tile::rows * gradient_columns(warps) * pixel_bytes : 0; }
    static constexpr int bytes(int warps) { return ring_bytes(warps) + 2 * gradient_bytes(warps); }
};

// Which columns, channels and tiles a block has, and what of them a thread copies and computes.
template <host_model::data_type Type, typename Tile, bool Gradients>
class depthwise_walk
{
public:
    using element = stored_t<Type>;
    using stages  = depthwise_stages<Type, Tile, Gradients>;

    int lane, warp;
    int chunk, column_tile, part;
    int channel;        // the lane's
    int first_position; // the warp's first column

    __device__ __forceinline__ depthwise_walk(const depthwise_plan& plan, char* shared)
        : lane(static_cast<int>(threadIdx.x) % 32),
          warp(static_cast<int>(threadIdx.x) / 32),
          p(plan),
          memory(shared),
          address(shared_address(shared))
    {
        const int chunks = depthwise_chunks(p.groups);
        int rest         = static_cast<int>(blockIdx.x);
        chunk            = rest % chunks;
        rest /= chunks;
        column_tile    = rest % p.column_tiles;
        part           = rest / p.column_tiles;
        channel        = chunk * depthwise_lanes + lane;
        const int tile = column_tile * p.warps;
        const int left = p.first_position[1] + tile * Tile::columns;
        first_position = left + warp * Tile::columns;
        columns        = stages::columns(p.warps);
        wide           = most == depthwise_vector || p.groups % most == 0;
        image          = plan_copies(
            p.image, p.length, p.first_element[1] + tile * Tile::advance(Tile::columns), columns);
        if constexpr(Gradients)
        {
            gradient = plan_copies(p.other, p.positions, left, stages::gradient_columns(p.warps));
        }
    }

    // Calls compute(image, first row of positions) for each row of tiles; rows that it reads by
    // row() and gradients() are in shared memory then.
    template <typename Compute>
    __device__ __forceinline__ void run(const Compute& compute)
    {
        // The first parts have one more if they cannot be the same.
        const int tiles = p.images * p.row_tiles, each = tiles / p.parts, rest = tiles % p.parts;
        const int begin = part * each + (part < rest ? part : rest);
        const int end   = begin + each + (part < rest ? 1 : 0);
        int number = begin / p.row_tiles, tile = begin % p.row_tiles; // what is copied
        int computed = 0, computed_row = 0; // image, first row of positions
        bool anew = true;                   // In another image no row is known.
        slot = buffer = 0;
#pragma unroll 1
        for(int index = begin; index <= end; ++index)
        {
            const int next_slot = in_ring(slot + (anew ? stages::window : stages::advance));
            const int first     = anew ? 0 : stages::window - stages::advance;
            if(index < end)
            {
                copy_rows(number, tile, next_slot, first);
                copy_gradients(number, tile, 1 - buffer);
            }
            if(index > begin) { compute(computed, computed_row); }
            if(index == end) { break; }
            commit_copies();
            slot         = next_slot;
            buffer       = 1 - buffer;
            computed     = number;
            computed_row = p.first_position[0] + tile * Tile::rows;
            first_row    = p.first_element[0] + tile * stages::advance;
            ++tile;
            anew = tile == p.row_tiles;
            if(anew)
            {
                tile = 0;
                ++number;
            }
            wait_copies<0>();
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
        const int at = in_ring(slot + number) * columns + warp * Tile::advance(Tile::columns);
        return reinterpret_cast<const element*>(memory + at * stages::pixel_bytes) + lane;
    }
    // The gradients of the warp's positions of a row, likewise.
    __device__ __forceinline__ const element* gradients(int number) const
    {
        const int at = (buffer * Tile::rows + number) * stages::gradient_columns(p.warps) +
                       warp * Tile::columns;
        return reinterpret_cast<const element*>(memory + stages::ring_bytes(p.warps) +
                                                at * stages::pixel_bytes) +
               lane;
    }

private:
    // What a lane copies of each row: pieces of pixels that are some columns apart.
    struct row_copies
    {
        const char* first; // in row 0 of image 0
        int pitch;         // of rows, in bytes
        unsigned columns;  // bit i: whether the image has piece i
    };

    static constexpr int most = 16 / stages::element_bytes; // channels of a piece

    const depthwise_plan& p;
    char* const memory;
    const std::uint32_t address; // of `memory`
    int columns;                 // in shared memory
    int slot;                    // the window's first row in the ring
    int buffer;                  // of gradients
    int first_row;               // of the image, in the window
    bool wide;                   // pieces have so many channels, otherwise depthwise_vector
    row_copies image, gradient;

    __device__ __forceinline__ int piece_bytes() const
    { return wide ? 16 : depthwise_vector * stages::element_bytes; }
    // That a warp copies at once.
    __device__ __forceinline__ int pixels() const
    { return 32 * piece_bytes() / stages::pixel_bytes; }

    __device__ __forceinline__ row_copies plan_copies(const void* tensor,
                                                      const int (&length)[2],
                                                      int column,
                                                      int count) const
    {
        const int pieces = stages::pixel_bytes / piece_bytes(); // of a pixel
        const int start =
            chunk * depthwise_lanes + lane % pieces * (depthwise_lanes / pieces); // a channel
        column += lane / pieces;
        const element* first = static_cast<const element*>(tensor) +
                               (static_cast<std::int64_t>(column) * p.groups + start);
        row_copies result{
            reinterpret_cast<const char*>(first), length[1] * p.groups * stages::element_bytes, 0};
        for(int i = 0; i * pixels() < count; ++i)
        {
            // All channels of a piece exist, or none.
            const bool exists = start < p.groups && static_cast<unsigned>(column + i * pixels()) <
                                                        static_cast<unsigned>(length[1]);
            result.columns |= exists ? 1u << i : 0u;
        }
        return result;
    }

    __device__ __forceinline__ static int in_ring(int row)
    { return row >= stages::ring ? row - stages::ring : row; }

    // The rows of a tile's window from number `begin` on.
    __device__ __forceinline__ void copy_rows(int number, int tile, int first_slot, int begin) const
    {
        const int first = p.first_element[0] + tile * stages::advance;
#pragma unroll 1
        for(int i = begin + warp; i < stages::window; i += p.warps)
        {
            const int to = in_ring(first_slot + i) * columns;
            copy_row<stages::columns(depthwise_most_warps)>(
                image, p.length[0], number, first + i, to * stages::pixel_bytes, columns);
        }
    }
    __device__ __forceinline__ void copy_gradients(int number, int tile, int to) const
    {
        if constexpr(Gradients)
        {
            const int first = p.first_position[0] + tile * Tile::rows;
            const int count = stages::gradient_columns(p.warps);
#pragma unroll 1
            for(int i = warp; i < Tile::rows; i += p.warps)
            {
                copy_row<stages::gradient_columns(depthwise_most_warps)>(
                    gradient,
                    p.positions[0],
                    number,
                    first + i,
                    stages::ring_bytes(p.warps) +
                        (to * Tile::rows + i) * count * stages::pixel_bytes,
                    count);
            }
        }
    }

    // A row of an image with so many, to `count` columns of shared memory from byte `to` on; most
    // blocks have all warps, and their copies need no loop.
    template <int Most>
    __device__ __forceinline__ void
    copy_row(const row_copies& copies, int rows, int number, int row, int to, int count) const
    {
        const bool exists  = static_cast<unsigned>(row) < static_cast<unsigned>(rows);
        const unsigned has = exists ? copies.columns : 0;
        const char* from =
            copies.first + static_cast<std::int64_t>(number * rows + row) * copies.pitch;
        const std::uint32_t there = address + static_cast<unsigned>(to);
        if(wide && p.warps == depthwise_most_warps)
        {
            constexpr int at_once = 512 / stages::pixel_bytes;
#pragma unroll
            for(int i = 0; i < Most; i += at_once)
            {
                copy_piece<16>(there, from, has, i / at_once, Most - i);
            }
            return;
        }
        const int at_once = pixels();
#pragma unroll 1
        for(int i = 0; i * at_once < count; ++i)
        {
            if(wide) { copy_piece<16>(there, from, has, i, count - i * at_once); }
            else if constexpr(most != depthwise_vector)
            {
                copy_piece<depthwise_vector * stages::element_bytes>(
                    there, from, has, i, count - i * at_once);
            }
        }
    }
    // What the lane has of so many pixels at most, its piece `i` of the row.
    template <int Bytes>
    __device__ __forceinline__ void
    copy_piece(std::uint32_t to, const char* from, unsigned has, int i, int left) const
    {
        constexpr int at_once = 32 * Bytes / stages::pixel_bytes; // pixels
        const int step        = p.groups * (at_once * stages::element_bytes);
        if(left >= at_once || lane < left * (32 / at_once))
        {
            copy_async<Bytes>(to + static_cast<unsigned>((lane + 32 * i) * Bytes),
                              from + static_cast<std::int64_t>(step) * i,
                              (has >> i & 1) != 0);
        }
    }
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
