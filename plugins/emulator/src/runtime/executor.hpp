// SPDX-License-Identifier: MIT
// Threads that execute workgroups. Each has storage for some of its own and uses it again, so that
// nothing is allocated once a kernel has been run.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/dispatch.hpp"

namespace ckprof::emulator {

class Executor
{
public:
    explicit Executor(unsigned threads);
    ~Executor();
    Executor(const Executor&)            = delete;
    Executor& operator=(const Executor&) = delete;

    unsigned threads() const { return static_cast<unsigned>(lanes_.size()); }

    // From now on launches execute the workgroups at these places alone, from 0 for the first to 1
    // for the last one; none: all of them.
    void choose(std::vector<double> places) { places_ = std::move(places); }

    // Executes the workgroups. Throws what ended the first of them that did not come to its end;
    // the others are then given up. `observers` are one per thread, or none.
    void run(const Dispatch& dispatch,
             const Launch& launch,
             const std::vector<std::unique_ptr<Observer>>& observers);

private:
    // Workgroups of a thread.
    struct Lane
    { std::deque<std::unique_ptr<Workgroup>> started, idle; };

    std::vector<uint64_t> chosen(uint64_t workgroups) const;
    void work(size_t number);
    void execute(size_t number);
    bool start(size_t number);
    void retire(Lane& lane);

    std::vector<Lane> lanes_;
    std::vector<std::thread> threads_;

    std::mutex mutex_;
    std::condition_variable begin_, end_;
    uint64_t round_ = 0; // launches so far
    size_t busy_    = 0; // threads of this launch that have not ended
    bool leaving_   = false;

    // of the launch
    const Dispatch* dispatch_                                = nullptr;
    const Launch* launch_                                    = nullptr;
    const std::vector<std::unique_ptr<Observer>>* observers_ = nullptr;
    std::vector<double> places_;
    std::vector<uint64_t> order_; // of workgroups, if it is drawn or not all are executed
    uint64_t count_ = 0;          // of workgroups that are executed
    std::atomic<uint64_t> next_{0};
    std::atomic<bool> failed_{false};
    std::exception_ptr failure_;
};

} // namespace ckprof::emulator
