// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ck_tile/host_model/device.hpp"
#include "ck_tile/host_model/grid.hpp"
#include "ck_tile/host_model/impl/sampling.hpp"

namespace ck_tile::host_model {

// Which z has its turn, for each (x,y) of a grid.
class block_order
{
public:
    explicit block_order(const dim3& grid) : turns_(grid.z > 1 ? std::size_t{grid.x} * grid.y : 0)
    {}

    void wait(const block_position& block) const
    {
        const std::atomic<std::uint32_t>& turn = turns_[index(block)];
        for(int attempts = 0; turn.load(std::memory_order_acquire) != block.z; ++attempts)
        {
            if(broken_.load(std::memory_order_relaxed))
            {
                throw std::runtime_error("another block of the grid failed");
            }
            if(attempts > 100) { std::this_thread::yield(); }
        }
    }

    void pass_on(const block_position& block)
    { turns_[index(block)].store(block.z + 1, std::memory_order_release); }

    // Some turns will never come.
    void break_off() { broken_.store(true, std::memory_order_relaxed); }

private:
    static std::size_t index(const block_position& block)
    { return std::size_t{block.y} * block.grid.x + block.x; }

    std::vector<std::atomic<std::uint32_t>> turns_;
    std::atomic<bool> broken_{false};
};

namespace impl {

// One grid in execution. Blocks are handed out in runs so short that each worker gets many of them,
// since blocks may differ much in cost (edge tiles); one by one where they take turns.
class grid_run
{
public:
    grid_run(const dim3& grid, block_function function, const void* context)
        : grid_(grid),
          function_(function),
          context_(context),
          chosen_(chosen_blocks(std::uint64_t{grid.x} * grid.y * grid.z)),
          blocks_(chosen_.empty() ? std::uint64_t{grid.x} * grid.y * grid.z : chosen_.size()),
          order_(chosen_.empty() ? grid : dim3(1)),
          run_length_(grid.z > 1 ? 1
                                 : std::clamp<std::uint64_t>(
                                       blocks_ / (runs_per_worker *
                                                  static_cast<std::uint64_t>(worker_count())),
                                       1,
                                       longest_run))
    {}

    std::uint64_t blocks() const { return blocks_; }

    void work()
    {
        try
        {
            for(;;)
            {
                const std::uint64_t first = next_.fetch_add(run_length_, std::memory_order_relaxed);
                if(first >= blocks_) { return; }
                const std::uint64_t last = std::min(first + run_length_, blocks_);
                for(std::uint64_t block = first; block < last; ++block) { execute(block); }
            }
        }
        catch(...)
        {
            next_.store(blocks_, std::memory_order_relaxed);
            order_.break_off();
            const std::lock_guard lock(failure_mutex_);
            if(!failure_) { failure_ = std::current_exception(); }
        }
    }

    // To be called when no thread works any more.
    void rethrow_failure() const
    {
        if(failure_) { std::rethrow_exception(failure_); }
    }

private:
    // Taking a run waits for the stores of the one before to reach the cache.
    static constexpr std::uint64_t longest_run     = 16;
    static constexpr std::uint64_t runs_per_worker = 64;

    void execute(std::uint64_t number)
    {
        const std::uint64_t block = chosen_.empty() ? number : chosen_[number];
        const std::uint64_t row   = block / grid_.x;
        function_(context_,
                  {static_cast<std::uint32_t>(block % grid_.x),
                   static_cast<std::uint32_t>(row % grid_.y),
                   static_cast<std::uint32_t>(row / grid_.y),
                   grid_,
                   // turns of blocks that are not executed never come
                   chosen_.empty() ? &order_ : nullptr});
    }

    dim3 grid_;
    block_function function_;
    const void* context_;
    std::vector<std::uint64_t> chosen_;
    std::uint64_t blocks_;
    block_order order_;
    std::uint64_t run_length_;
    std::atomic<std::uint64_t> next_{0};
    std::mutex failure_mutex_;
    std::exception_ptr failure_;
};

// Threads that wait for grids. The launching thread works too, so there is one thread less than
// worker_count().
class thread_pool
{
public:
    thread_pool()                              = default;
    thread_pool(const thread_pool&)            = delete;
    thread_pool& operator=(const thread_pool&) = delete;
    ~thread_pool() { stop(); }

    void execute(grid_run& run)
    {
        const std::lock_guard one_launch(launch_mutex_);
        resize(worker_count() - 1);
        if(threads_.empty() || run.blocks() <= 1)
        {
            run.work();
            return;
        }
        {
            const std::lock_guard lock(mutex_);
            run_    = &run;
            active_ = static_cast<int>(threads_.size());
            ++generation_;
        }
        wake_.notify_all();
        run.work();
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return active_ == 0; });
        run_ = nullptr;
    }

private:
    void resize(int threads)
    {
        if(static_cast<int>(threads_.size()) == threads) { return; }
        stop();
        stopping_ = false;
        for(int i = 0; i < threads; ++i)
        {
            threads_.emplace_back([this, seen = generation_] { serve(seen); });
        }
    }

    void stop()
    {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_all();
        for(std::thread& thread : threads_) { thread.join(); }
        threads_.clear();
    }

    void serve(std::uint64_t seen)
    {
        std::unique_lock lock(mutex_);
        for(;;)
        {
            wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
            if(stopping_) { return; }
            seen          = generation_;
            grid_run* run = run_;
            lock.unlock();
            run->work();
            lock.lock();
            if(--active_ == 0) { done_.notify_one(); }
        }
    }

    std::mutex launch_mutex_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable done_;
    std::vector<std::thread> threads_;
    grid_run* run_            = nullptr;
    int active_               = 0;
    std::uint64_t generation_ = 0;
    bool stopping_            = false;
};

inline thread_pool& pool()
{
    static thread_pool instance;
    return instance;
}

} // namespace impl

CK_TILE_HOST_MODEL_API void run_grid(const dim3& grid, block_function function, const void* context)
{
    impl::grid_run run(grid, function, context);
    impl::pool().execute(run);
    run.rethrow_failure();
}

CK_TILE_HOST_MODEL_API ordered_turn::ordered_turn(const block_position& block) : block_(block)
{
    if(block.grid.z > 1 && block.order != nullptr) { block.order->wait(block); }
}

CK_TILE_HOST_MODEL_API ordered_turn::~ordered_turn()
{
    if(block_.grid.z > 1 && block_.order != nullptr) { block_.order->pass_on(block_); }
}

} // namespace ck_tile::host_model
