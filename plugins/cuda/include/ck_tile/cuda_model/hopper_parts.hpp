// SPDX-License-Identifier: MIT
// Several parts of K in engine W: who adds their sums. Usable without a GPU.
//
// As many blocks as there are parts can be a cluster that works on one tile: each block then owns
// some columns of it, gets the sums of all others for these, and stores them. Otherwise parts add
// in memory, and the one that arrives last takes the sums back.
#pragma once

#if defined(__CUDACC__)
#define CK_TILE_CUDA_BOTH __host__ __device__
#else
#define CK_TILE_CUDA_BOTH
#endif

namespace ck_tile::cuda_model {

// Blocks of a cluster that every device can have.
inline constexpr int most_cluster_blocks = 8;

struct part_sums
{
    int parts;
    int tiles;         // of the result
    int cluster;       // blocks of a cluster, one per part; 1: no clusters
    void* partial;     // sums in memory; zero between launches
    unsigned* arrived; // parts that are done, per tile of the result
};

struct column_range
{
    int begin, end;

    CK_TILE_CUDA_BOTH constexpr bool contains(int column) const
    { return column >= begin && column < end; }
    // Whether some of them are among `count` columns from `first` on.
    CK_TILE_CUDA_BOTH constexpr bool meets(int first, int count) const
    { return first < end && first + count > begin; }
};

// What the blocks of a cluster own of a tile of m rows and n columns: whole groups of 8 columns,
// since a thread has its sums by such groups. 4 sums of a thread travel together.
template <int M, int N>
struct cluster_shares
{
    static constexpr int groups      = N / 8;
    static constexpr int group_bytes = M * 8 * 4;

    CK_TILE_CUDA_BOTH static constexpr int first_group(int parts, int part)
    { return part * groups / parts; }
    CK_TILE_CUDA_BOTH static constexpr column_range columns(int parts, int part)
    { return {first_group(parts, part) * 8, first_group(parts, part + 1) * 8}; }

    // Groups that a block has room for, per sender.
    CK_TILE_CUDA_BOTH static constexpr int most_groups(int parts)
    { return (groups + parts - 1) / parts; }
    // Where a sender's sums begin in the memory of their owner.
    CK_TILE_CUDA_BOTH static constexpr int place_of(int parts, int sender, int owner)
    { return (sender < owner ? sender : sender - 1) * most_groups(parts) * group_bytes; }
    // Bytes of that memory.
    CK_TILE_CUDA_BOTH static constexpr int room(int parts)
    { return (parts - 1) * most_groups(parts) * group_bytes; }
    // Bytes that arrive for a part if so many rows of the tile exist: those of warps, 16 rows each,
    // that have some.
    CK_TILE_CUDA_BOTH static constexpr int bytes(int parts, int part, int rows)
    {
        const int warps = ((rows < M ? rows : M) + 15) / 16;
        const int own   = first_group(parts, part + 1) - first_group(parts, part);
        return (parts - 1) * own * warps * (16 * 8 * 4);
    }
};

// What adding up in a cluster takes, in steps of a reduction, beside those of its parts.
constexpr double cluster_cost(int parts) { return parts == 1 ? 0. : 4. + parts * .5; }

// How many blocks should share each of so many tiles with that many steps. `room`: clusters of so
// many blocks that run at the same time. Blocks of one multiprocessor share what it can do.
template <typename Room>
int choose_cluster(int tiles, int steps, int multiprocessors, const Room& room)
{
    int best     = 1;
    double least = steps;
    if(tiles > multiprocessors) { return best; }
    for(int parts = 2; parts <= most_cluster_blocks; ++parts)
    {
        const int share    = (steps + parts - 1) / parts;
        const int resident = (tiles * parts + multiprocessors - 1) / multiprocessors;
        const double cost  = share * (.5 + .5 * resident) + cluster_cost(parts);
        if(cost < least && tiles <= room(parts))
        {
            least = cost;
            best  = parts;
        }
    }
    return best;
}

// The tiles that a block takes, in the order of find_hopper_place: i from `first` below `end` in
// steps of `stride`, each with `offset` added.
struct tile_walk
{ int first, end, stride, offset; };

// With clusters, `block` and `blocks` count these, and `part` is the block within its own.
CK_TILE_CUDA_BOTH inline tile_walk
walk_tiles(const part_sums& s, int tiles, int block, int blocks, int part)
{
    return s.cluster > 1 ? tile_walk{block, s.tiles, blocks, part * s.tiles}
                         : tile_walk{block, tiles, blocks, 0};
}

} // namespace ck_tile::cuda_model
