// SPDX-License-Identifier: MIT
// The machine instructions of engine W: barriers in shared memory, the tensor copy engine, the
// order of warpgroup products.
#pragma once

#include <cstdint>

#include <cuda.h>

namespace ck_tile::cuda_model {

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

// Before other threads, or copies, use barriers that this one has prepared.
__device__ __forceinline__ void fence_barrier_inits()
{ asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier)
{ asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }

// Meets all threads of the block; those that copy only say that they are there.
template <bool Copies>
__device__ __forceinline__ void begin_together(int threads)
{
    if constexpr(Copies) { asm volatile("bar.arrive 0, %0;" ::"r"(threads) : "memory"); }
    else
    {
        asm volatile("bar.sync 0, %0;" ::"r"(threads) : "memory");
    }
}

// Arrives and announces that many bytes of copies.
__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra.uni over;\n"
                 "bra.uni again;\n"
                 "over:\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

// Clusters of blocks: the block within its cluster, the cluster, their number. A launch without
// clusters has one of one block for each block.
__device__ __forceinline__ int cluster_rank()
{
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ int cluster_number()
{
    int number;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(number));
    return number;
}
__device__ __forceinline__ int cluster_count()
{
    int count;
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(count));
    return count;
}

// Meets all threads of the cluster, in two steps. What they wrote before is not ordered by that: a
// fence for all of memory takes long.
__device__ __forceinline__ void cluster_arrive()
{ asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait()
{ asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

// The address of the same place in the shared memory of another block of the cluster.
__device__ __forceinline__ std::uint32_t in_peer(std::uint32_t address, int rank)
{
    std::uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

// Says that this warp's products no longer read their operands. They are complete by then, so
// nothing else needs to be ordered.
__device__ __forceinline__ void arrive_at_peer(std::uint32_t barrier)
{ asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory"); }

// Waits for a barrier of its own that other blocks arrive at.
__device__ __forceinline__ void wait_for_peers(std::uint32_t barrier, std::uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra.uni over;\n"
                 "bra.uni again;\n"
                 "over:\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

// 16 bytes to another block's shared memory; its barrier there counts them.
__device__ __forceinline__ void
send_four(std::uint32_t to, const float* values, std::uint32_t barrier)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
                 "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "f"(values[0]),
                 "f"(values[1]),
                 "f"(values[2]),
                 "f"(values[3]),
                 "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void
send_four(std::uint32_t to, const int* values, std::uint32_t barrier)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.s32 "
                 "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "r"(values[0]),
                 "r"(values[1]),
                 "r"(values[2]),
                 "r"(values[3]),
                 "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void add_from_shared(std::uint32_t from, float* values)
{
    float a, b, c, d;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
                 : "r"(from)
                 : "memory");
    values[0] += a, values[1] += b, values[2] += c, values[3] += d;
}
__device__ __forceinline__ void add_from_shared(std::uint32_t from, int* values)
{
    int a, b, c, d;
    asm volatile("ld.shared.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(from)
                 : "memory");
    values[0] += a, values[1] += b, values[2] += c, values[3] += d;
}

// Orders what this thread has done with shared memory before copies into it.
__device__ __forceinline__ void fence_before_copies()
{ asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// A tile of a tensor map whose axes are, fastest first, c0, c1 ...
__device__ __forceinline__ void copy_tile(std::uint32_t destination,
                                          const CUtensorMap& map,
                                          std::uint32_t barrier,
                                          int c0,
                                          int c1,
                                          int c2,
                                          int c3)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(destination),
                 "l"(&map),
                 "r"(barrier),
                 "r"(c0),
                 "r"(c1),
                 "r"(c2),
                 "r"(c3)
                 : "memory");
}

__device__ __forceinline__ void copy_tile(std::uint32_t destination,
                                          const CUtensorMap& map,
                                          std::uint32_t barrier,
                                          int c0,
                                          int c1,
                                          int c2,
                                          int c3,
                                          int c4)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(destination),
                 "l"(&map),
                 "r"(barrier),
                 "r"(c0),
                 "r"(c1),
                 "r"(c2),
                 "r"(c3),
                 "r"(c4)
                 : "memory");
}

__device__ __forceinline__ void copy_tile(std::uint32_t destination,
                                          const CUtensorMap& map,
                                          std::uint32_t barrier,
                                          int c0,
                                          int c1,
                                          int c2)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(destination),
                 "l"(&map),
                 "r"(barrier),
                 "r"(c0),
                 "r"(c1),
                 "r"(c2)
                 : "memory");
}

// The same for what is not needed again: the level-2 cache gives it up first.
__device__ __forceinline__ void copy_tile_once(std::uint32_t destination,
                                               const CUtensorMap& map,
                                               std::uint32_t barrier,
                                               int c0,
                                               int c1,
                                               int c2)
{
    // Evict first, all of it.
    constexpr std::uint64_t policy = 0x12f0000000000000;
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(destination),
                 "l"(&map),
                 "r"(barrier),
                 "r"(c0),
                 "r"(c1),
                 "r"(c2),
                 "l"(policy)
                 : "memory");
}

__device__ __forceinline__ void
copy_tile(std::uint32_t destination, const CUtensorMap& map, std::uint32_t barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(destination),
                 "l"(&map),
                 "r"(barrier),
                 "r"(c0),
                 "r"(c1)
                 : "memory");
}

// Windows of an image: the channels from c on of the pixels from (w,h,n) on, displaced by a tap.
__device__ __forceinline__ void copy_windows(std::uint32_t destination,
                                             const CUtensorMap& map,
                                             std::uint32_t barrier,
                                             int c,
                                             int w,
                                             int h,
                                             int n,
                                             int tap_w,
                                             int tap_h)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(destination),
        "l"(&map),
        "r"(barrier),
        "r"(c),
        "r"(w),
        "r"(h),
        "r"(n),
        "h"(static_cast<std::uint16_t>(tap_w)),
        "h"(static_cast<std::uint16_t>(tap_h))
        : "memory");
}

__device__ __forceinline__ void copy_windows(std::uint32_t destination,
                                             const CUtensorMap& map,
                                             std::uint32_t barrier,
                                             int c,
                                             int w,
                                             int h,
                                             int d,
                                             int n,
                                             int tap_w,
                                             int tap_h,
                                             int tap_d)
{
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};" ::"r"(destination),
        "l"(&map),
        "r"(barrier),
        "r"(c),
        "r"(w),
        "r"(h),
        "r"(d),
        "r"(n),
        "h"(static_cast<std::uint16_t>(tap_w)),
        "h"(static_cast<std::uint16_t>(tap_h)),
        "h"(static_cast<std::uint16_t>(tap_d))
        : "memory");
}

__device__ __forceinline__ void prefetch_map(const CUtensorMap& map)
{ asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

// Four 8x8 matrices of 16-bit elements to shared memory, Transposed ones turned over; each lane
// knows the address of one line.
template <bool Transposed>
__device__ __forceinline__ void store_matrices(
    std::uint32_t address, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d)
{
    if constexpr(Transposed)
    {
        asm volatile(
            "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
            "r"(a),
            "r"(b),
            "r"(c),
            "r"(d)
            : "memory");
    }
    else
    {
        asm volatile(
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
            "r"(a),
            "r"(b),
            "r"(c),
            "r"(d)
            : "memory");
    }
}

// Registers of this warpgroup's threads from here on.
template <int Count>
__device__ __forceinline__ void give_up_registers()
{ asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count)); }

template <int Count>
__device__ __forceinline__ void take_registers()
{ asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count)); }

// Orders what other instructions wrote to the accumulators before the next products.
__device__ __forceinline__ void products_begin()
{ asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ __forceinline__ void products_commit()
{ asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most Groups of the newest groups of products are under way.
template <int Groups>
__device__ __forceinline__ void products_wait()
{ asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory"); }

} // namespace ck_tile::cuda_model
