// SPDX-License-Identifier: MIT
// What a block of a kernel for single channels has in shared memory, and how its threads copy that.
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
    static_assert(advance <= window - Tile::window_edge);
    // An even number, so that rows start at multiples of 128 bytes.
    static constexpr int columns(int warps)
    {
        const int read = (warps - 1) * Tile::advance(Tile::columns) + Tile::window(Tile::columns);
        return (read + 1) / 2 * 2;
    }
    static constexpr int gradient_columns(int warps) { return warps * Tile::columns; }
    static_assert(Tile::rows % 2 == 0);
    // Rows of the ring: a window, and another one that is copied.
    static constexpr int ring(const depthwise_plan& p) { return 2 * window - p.hidden; }
    static constexpr int ring_bytes(const depthwise_plan& p)
    { return ring(p) * columns(p.warps) * pixel_bytes; }
    static constexpr int gradient_bytes(int warps) // of a row of tiles
    { return Gradients ? Tile::rows * gradient_columns(warps) * pixel_bytes : 0; }
    static constexpr int bytes(const depthwise_plan& p)
    { return ring_bytes(p) + 2 * gradient_bytes(p.warps); }

    // A row's place in it; numbers are below two rings.
    __device__ __forceinline__ static int in_ring(const depthwise_plan& p, int row)
    { return row >= ring(p) ? row - ring(p) : row; }
};

// The channels, columns and part of the tiles that a block has, and a thread's place in it.
struct depthwise_place
{
    int lane, warp;
    int chunk, column_tile, part;
    int first_position, first_element; // columns of the images

    template <typename Tile>
    __device__ __forceinline__ static depthwise_place of_thread(const depthwise_plan& p)
    {
        depthwise_place at{};
        at.lane           = static_cast<int>(threadIdx.x) % 32;
        at.warp           = static_cast<int>(threadIdx.x) / 32;
        const int chunks  = depthwise_chunks(p.groups);
        const int rest    = static_cast<int>(blockIdx.x) / chunks;
        at.chunk          = static_cast<int>(blockIdx.x) % chunks;
        at.column_tile    = rest % p.column_tiles;
        at.part           = rest / p.column_tiles;
        const int tile    = at.column_tile * p.warps;
        at.first_position = p.first_position[1] + tile * Tile::columns;
        at.first_element  = p.first_element[1] + tile * Tile::advance(Tile::columns);
        return at;
    }
};

// What is copied for a row of tiles.
struct depthwise_row
{
    int image;
    int element, position; // the first rows, of the window and of positions
    int slot, begin;       // in the ring: of the window, of which rows before `begin` are there
    int buffer;            // of gradients
};

// Asynchronous copies by all threads.
template <host_model::data_type Type, typename Tile, bool Gradients>
class lane_copies
{
public:
    using element = stored_t<Type>;
    using stages  = depthwise_stages<Type, Tile, Gradients>;

    __device__ __forceinline__ lane_copies(const depthwise_plan& plan,
                                           const depthwise_place& place,
                                           std::uint32_t shared)
        : p(plan),
          at(place),
          address(shared),
          wide(most == depthwise_vector || plan.groups % most == 0)
    {
        image = plan_copies(p.image, p.length, at.first_element, stages::columns(p.warps));
        if constexpr(Gradients)
        {
            gradient = plan_copies(
                p.other, p.positions, at.first_position, stages::gradient_columns(p.warps));
        }
    }

    __device__ __forceinline__ void start(const depthwise_row& rows) const
    {
        const int columns = stages::columns(p.warps);
#pragma unroll 1
        for(int i = rows.begin + at.warp; i < stages::window; i += p.warps)
        {
            const int to = stages::in_ring(p, rows.slot + i) * columns;
            copy_row<stages::columns(depthwise_most_warps)>(image,
                                                            p.length[0],
                                                            rows.image,
                                                            rows.element + i,
                                                            to * stages::pixel_bytes,
                                                            columns);
        }
        if constexpr(Gradients)
        {
            const int count = stages::gradient_columns(p.warps);
#pragma unroll 1
            for(int i = at.warp; i < Tile::rows; i += p.warps)
            {
                copy_row<stages::gradient_columns(depthwise_most_warps)>(
                    gradient,
                    p.positions[0],
                    rows.image,
                    rows.position + i,
                    stages::ring_bytes(p) +
                        (rows.buffer * Tile::rows + i) * count * stages::pixel_bytes,
                    count);
            }
        }
    }
    // Waits for the thread's own copies.
    __device__ __forceinline__ void finish() const
    {
        commit_copies();
        wait_copies<0>();
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
    const depthwise_place& at;
    const std::uint32_t address; // of shared memory
    const bool wide;             // pieces have so many channels, otherwise depthwise_vector
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
            at.chunk * depthwise_lanes + at.lane % pieces * (depthwise_lanes / pieces); // a channel
        column += at.lane / pieces;
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
        if(left >= at_once || at.lane < left * (32 / at_once))
        {
            copy_async<Bytes>(to + static_cast<unsigned>((at.lane + 32 * i) * Bytes),
                              from + static_cast<std::int64_t>(step) * i,
                              (has >> i & 1) != 0);
        }
    }
};

} // namespace ck_tile::cuda_model
