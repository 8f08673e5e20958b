// SPDX-License-Identifier: MIT
// Runs a kernel's threads on the host, one after the other: each until it must wait for others.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <ucontext.h>

#define __device__
#define __forceinline__ inline
#define __global__
#define __grid_constant__
#define __shared__
#define __align__(bytes)
#define __launch_bounds__(...)

struct emulated_index
{ unsigned x; };
inline emulated_index threadIdx{}, blockIdx{};

namespace ck_tile::cuda_model {
// The shared memory of the block that is run; kernels declare it by this name.
inline constexpr int shared_bytes = 232448;
alignas(1024) inline char shared[shared_bytes];
} // namespace ck_tile::cuda_model

namespace emulated {

// A group of threads that wait for one another.
struct meeting
{ unsigned arrived = 0, generation = 0; };

struct copy
{
    char* to;
    const char* from; // null: zeros
    int bytes;
};

struct thread
{
    ucontext_t context{};
    std::unique_ptr<char[]> stack;
    bool done = false;
    // Asynchronous copies: groups that were committed, oldest first, and the open one.
    std::vector<std::vector<copy>> groups;
    std::vector<copy> open;
    unsigned turn = 0; // of the warp's exchanges
};

struct warp
{
    meeting all;
    std::uint32_t words[2][32][6]; // what lanes give each other, for even and odd turns
};

struct block
{
    std::vector<thread> threads;
    std::vector<warp> warps;
    meeting all;
    ucontext_t scheduler{};
    std::function<void()> kernel;
    std::vector<std::pair<const void*, std::size_t>> readable; // memory that kernels may read
    long long conflicts = 0; // of reads of matrices: turns that shared memory needs more than once
};

inline block* current = nullptr;

inline thread& self() { return current->threads[threadIdx.x]; }
inline warp& own_warp() { return current->warps[threadIdx.x / 32]; }

inline bool may_read(const void* from, std::size_t bytes)
{
    for(const auto& [start, size] : current->readable)
    {
        const auto offset = static_cast<const char*>(from) - static_cast<const char*>(start);
        if(offset >= 0 && static_cast<std::size_t>(offset) + bytes <= size) { return true; }
    }
    return false;
}

inline void yield()
{
    const unsigned number = threadIdx.x;
    swapcontext(&current->threads[number].context, &current->scheduler);
    threadIdx.x = number;
}

inline void wait(meeting& group, unsigned size)
{
    const unsigned generation = group.generation;
    if(++group.arrived == size)
    {
        group.arrived = 0;
        ++group.generation;
        return;
    }
    while(group.generation == generation) { yield(); }
}

// Gives words to the other lanes of the warp; returns those of all.
template <int Count>
const std::uint32_t (*exchange(const std::uint32_t (&words)[Count]))[6]
{
    warp& w   = own_warp();
    auto& all = w.words[self().turn++ % 2];
    for(int i = 0; i < Count; ++i) { all[threadIdx.x % 32][i] = words[i]; }
    wait(w.all, 32);
    return all;
}

inline void enter()
{
    current->kernel();
    self().done = true;
    while(true) { yield(); }
}

// Runs a block. What shared memory holds before is not a number.
inline void run_block(block& b, unsigned threads, unsigned number)
{
    constexpr std::size_t stack_bytes = 128 * 1024;
    current                           = &b;
    b.threads.clear();
    b.threads.resize(threads);
    b.warps.assign(threads / 32, warp{});
    b.all = meeting{};
    for(char& byte : ck_tile::cuda_model::shared) { byte = static_cast<char>(0xff); }
    blockIdx.x = number;
    for(thread& t : b.threads)
    {
        t.stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
        getcontext(&t.context);
        t.context.uc_stack.ss_sp   = t.stack.get();
        t.context.uc_stack.ss_size = stack_bytes;
        makecontext(&t.context, enter, 0);
    }
    for(bool running = true; running;)
    {
        running = false;
        for(unsigned i = 0; i < threads; ++i)
        {
            if(b.threads[i].done) { continue; }
            threadIdx.x = i;
            swapcontext(&b.scheduler, &b.threads[i].context);
            running = true;
        }
    }
}

} // namespace emulated

inline void __syncthreads()
{
    emulated::wait(emulated::current->all,
                   static_cast<unsigned>(emulated::current->threads.size()));
}
inline void __syncwarp() { emulated::wait(emulated::own_warp().all, 32); }
