// SPDX-License-Identifier: MIT
#include "runtime/executor.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace ckprof::emulator {
namespace {

// A thread whose workgroups all wait for another thread's looks again after this time.
constexpr std::chrono::microseconds rest{50};

} // namespace

Executor::Executor(unsigned threads) : lanes_(threads)
{
    // the thread that launches is one of them
    for(size_t number = 1; number < threads; ++number)
        threads_.emplace_back([this, number] { work(number); });
}

Executor::~Executor()
{
    {
        const std::lock_guard lock(mutex_);
        leaving_ = true;
    }
    begin_.notify_all();
    for(std::thread& thread : threads_) thread.join();
}

void Executor::run(const Dispatch& dispatch,
                   const Launch& launch,
                   const std::vector<std::unique_ptr<Observer>>& observers)
{
    dispatch_       = &dispatch;
    launch_         = &launch;
    observers_      = &observers;
    order_          = chosen(dispatch.workgroups());
    const bool part = !order_.empty();
    if(launch.seed != 0 || launch.reverse)
    {
        if(!part)
        {
            order_.resize(dispatch.workgroups());
            std::iota(order_.begin(), order_.end(), uint64_t{0});
        }
        if(launch.reverse)
            std::ranges::reverse(order_);
        else
            std::shuffle(order_.begin(), order_.end(), std::mt19937_64(launch.seed));
    }
    count_   = part ? order_.size() : dispatch.workgroups();
    next_    = 0;
    failed_  = false;
    failure_ = nullptr;
    {
        const std::lock_guard lock(mutex_);
        busy_ = threads_.size();
        ++round_;
    }
    begin_.notify_all();
    execute(0);
    std::unique_lock lock(mutex_);
    end_.wait(lock, [this] { return busy_ == 0; });
    if(failure_ != nullptr) std::rethrow_exception(failure_);
}

std::vector<uint64_t> Executor::chosen(uint64_t workgroups) const
{
    std::vector<uint64_t> found;
    for(const double place : places_)
        found.push_back(static_cast<uint64_t>(place * static_cast<double>(workgroups - 1)));
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return found;
}

void Executor::work(size_t number)
{
    uint64_t done = 0;
    for(;;)
    {
        {
            std::unique_lock lock(mutex_);
            begin_.wait(lock, [&] { return leaving_ || round_ != done; });
            if(leaving_) return;
            done = round_;
        }
        execute(number);
        const std::lock_guard lock(mutex_);
        if(--busy_ == 0) end_.notify_one();
    }
}

void Executor::execute(size_t number)
{
    Lane& lane     = lanes_[number];
    uint64_t order = launch_->seed == 0 ? 0 : launch_->seed * 0x9e3779b97f4a7c15 + number + 1;
    size_t waiting = 0; // of those that are started, one after the other
    try
    {
        while(!failed_)
        {
            // one that waits may wait for one that has not been started
            if(waiting == lane.started.size())
            {
                if(start(number))
                    ;
                else if(lane.started.empty())
                    return;
                else
                    std::this_thread::sleep_for(rest);
                waiting = 0;
            }
            std::unique_ptr<Workgroup>& last = lane.started.back();
            if(emulator::execute(*last, order) == Progress::ended)
            {
                if(last->observer != nullptr) last->observer->workgroup_ends(*last);
                retire(lane);
            }
            else
            {
                ++waiting;
                lane.started.push_front(std::move(last));
                lane.started.pop_back();
            }
        }
    }
    catch(...)
    {
        const std::lock_guard lock(mutex_);
        if(failure_ == nullptr) failure_ = std::current_exception();
        failed_ = true;
    }
    while(!lane.started.empty()) retire(lane);
}

// Puts the next workgroup to the end of the thread's list; false if all have been started.
bool Executor::start(size_t number)
{
    const uint64_t position = next_++;
    if(position >= count_) return false;
    Lane& lane = lanes_[number];
    if(lane.idle.empty()) lane.idle.push_back(std::make_unique<Workgroup>());
    std::unique_ptr<Workgroup> group = std::move(lane.idle.back());
    lane.idle.pop_back();
    group->observer = observers_->empty() ? nullptr : observers_->at(number).get();
    dispatch_->prepare(*group, order_.empty() ? position : order_[position], *launch_);
    if(group->observer != nullptr) group->observer->workgroup_begins(*group);
    lane.started.push_back(std::move(group));
    return true;
}

// Puts the last of the started workgroups aside for its storage to be used again.
void Executor::retire(Lane& lane)
{
    lane.idle.push_back(std::move(lane.started.back()));
    lane.started.pop_back();
}

} // namespace ckprof::emulator
