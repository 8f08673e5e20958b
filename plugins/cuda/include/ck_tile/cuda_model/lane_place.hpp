// SPDX-License-Identifier: MIT
// Where a lane reads the fragments of an operand in shared memory. Usable without a GPU.
#pragma once

#include <cstdint>

#include "ck_tile/cuda_model/tile_config.hpp"

namespace ck_tile::cuda_model {

// A fragment is 16 lines along the tile's side times 32 bytes along K: four matrices of 8x8 for
// ldmatrix, whose lines 8 lanes point at for each. Where the side is contiguous, matrices of 16
// bits are transposed on the way; words of TF32 cannot be, and are loaded one by one.
template <typename Layout, bool OfB, bool KMajor, bool Tf32, int WarpSide>
class lane_place
{
public:
    static constexpr bool k_major = KMajor;
    static constexpr bool words   = Tf32 && !KMajor;

    lane_place() = default;

    // First: the row or column that the warp begins with. Of A the first two matrices are
    // neighbours along the side, of B along K.
    constexpr lane_place(int first, int lane)
    {
        const int inner = lane % 8, low = lane / 8 % 2, high = lane / 16;
        const int side8 = OfB ? high : low, depth8 = OfB ? low : high;
        if constexpr(words)
        {
            line = lane % 4;
            byte = (first + lane / 4) * 4;
        }
        else if constexpr(KMajor)
        {
            line = first + inner + side8 * 8;
            byte = depth8 * 16;
        }
        else
        {
            line = inner + depth8 * 8;
            byte = (first + side8 * 8) * 2;
        }
        place = Layout::at(line, byte);
    }

    // The lane's address for fragment i of the warp in step k. Word: of four that a lane loads.
    constexpr std::uint32_t at(std::uint32_t tile, int i, int k, int word) const
    {
        if constexpr(KMajor)
        {
            // Steps of K differ in bits of the address that nothing is added to.
            return ((tile + place) ^ (k * 32 % 128)) + i * 16 * Layout::line_bytes +
                   k * 32 / 128 * 128;
        }
        else
        {
            constexpr int element_bytes = Tf32 ? 4 : 2, step_lines = Tf32 ? 8 : 16;
            // Of the words of A the second is 8 rows on, the third 4 steps of K; of B the reverse.
            const bool side = OfB ? word / 2 != 0 : word % 2 != 0;
            const bool deep = OfB ? word % 2 != 0 : word / 2 != 0;
            const int lines = k * step_lines + (deep ? 4 : 0);
            const int along = i * 16 * element_bytes + (side ? 32 : 0);
            // So do fragments along a side that is a power of two long.
            if constexpr((WarpSide & (WarpSide - 1)) == 0)
            {
                return ((tile + place) ^ (along % 128)) + lines * Layout::line_bytes +
                       along / 128 * 128;
            }
            else
            {
                return tile + Layout::at(line + lines, byte + along);
            }
        }
    }

private:
    int line, byte, place;
};

} // namespace ck_tile::cuda_model
