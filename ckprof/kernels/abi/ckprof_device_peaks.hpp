// SPDX-License-Identifier: MIT
//
// How what a GPU reaches at most is timed, with the calls of ckprof_device_api.hpp; what is timed
// is the target's own.
#ifndef CKPROF_DEVICE_PEAKS_HPP
#define CKPROF_DEVICE_PEAKS_HPP

#include <algorithm>
#include <cstddef>
#include <exception>
#include <stdexcept>

#include "ckprof_device_api.hpp"
#include "ckprof_target.h"

namespace ckprof::peaks {

inline void check(device_api::error_type error)
{
    if(error != device_api::success) throw std::runtime_error(device_api::text(error));
}

struct events
{
    CKPROF_RUNTIME(Event_t) begin{}, end {};

    events()
    {
        check(CKPROF_RUNTIME(EventCreate)(&begin));
        check(CKPROF_RUNTIME(EventCreate)(&end));
    }
    events(const events&)            = delete;
    events& operator=(const events&) = delete;
    ~events()
    {
        (void)CKPROF_RUNTIME(EventDestroy)(begin);
        (void)CKPROF_RUNTIME(EventDestroy)(end);
    }

    // What a launch takes on the device.
    template <typename Launch>
    double milliseconds(const Launch& launch) const
    {
        float ms = 0;
        check(CKPROF_RUNTIME(EventRecord)(begin, nullptr));
        launch();
        check(device_api::take_error());
        check(CKPROF_RUNTIME(EventRecord)(end, nullptr));
        check(CKPROF_RUNTIME(EventSynchronize)(end));
        check(CKPROF_RUNTIME(EventElapsedTime)(&ms, begin, end));
        return double{ms};
    }
};

struct memory
{
    void* address = nullptr;

    explicit memory(size_t bytes) { check(device_api::allocate(&address, bytes)); }
    memory(const memory&)            = delete;
    memory& operator=(const memory&) = delete;
    ~memory() { (void)device_api::release(address); }
};

// The fewest seconds of a launch among those that take so long on the device, 0 where its events
// tell no time; the first is not counted: it loads the kernel and raises the clock.
template <typename Launch>
double least_seconds(double seconds, const Launch& launch)
{
    const events watch;
    launch();
    check(device_api::take_error());
    check(device_api::wait());
    double least = 0, spent = 0;
    while(spent < seconds)
    {
        const double taken = watch.milliseconds(launch) * 1e-3;
        if(!(taken > 0)) return 0;
        least = least == 0 ? taken : std::min(least, taken);
        spent += taken;
    }
    return least;
}

// Work per second of the fastest launch.
template <typename Launch>
double highest_rate(double work, double seconds, const Launch& launch)
{
    const double least = least_seconds(seconds, launch);
    return least > 0 ? work / least : 0;
}

// Bytes that are read and written.
inline double copy_rate(size_t bytes, double seconds)
{
    const memory source(bytes), destination(bytes);
    check(device_api::fill_async(source.address, 1, bytes));
    return highest_rate(2.0 * static_cast<double>(bytes), seconds, [&] {
        check(CKPROF_RUNTIME(MemcpyAsync)(destination.address,
                                          source.address,
                                          bytes,
                                          CKPROF_RUNTIME(MemcpyDeviceToDevice),
                                          nullptr));
    });
}

// What ckprof_measure_peak() returns, with measure() for the rate.
template <typename Measure>
ckprof_status measured(double* rate, const Measure& measure) noexcept
{
    try
    {
        *rate = measure();
        return *rate > 0 ? CKPROF_OK : CKPROF_REJECTED;
    }
    catch(const std::exception&)
    {
        // An error that stays is found by what comes next; lack of memory is none.
        (void)device_api::take_error();
        return CKPROF_REJECTED;
    }
}

} // namespace ckprof::peaks

#endif
