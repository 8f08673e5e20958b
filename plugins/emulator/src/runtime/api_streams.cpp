// SPDX-License-Identifier: MIT
// Streams and events. What a stream is given is done at once, so there is nothing to wait for;
// times are those of the CPU and say nothing about a GPU.
#include <chrono>
#include <optional>

#include "runtime/api.hpp"

using namespace ckprof::emulator;

using Clock = std::chrono::steady_clock;

struct ihipEvent_t
{ std::optional<Clock::time_point> at; };

struct ihipStream_t
{};

hipError_t hipDeviceSynchronize() { return enter(__func__); }

hipError_t hipStreamSynchronize(hipStream_t) { return enter(__func__); }

hipError_t hipStreamQuery(hipStream_t) { return enter(__func__); }

hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned) { return enter(__func__); }

hipError_t hipStreamCreate(hipStream_t* stream)
{
    CKPROF_ENTER();
    *stream = new ihipStream_t;
    return hipSuccess;
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned)
{ return hipStreamCreate(stream); }

hipError_t hipStreamDestroy(hipStream_t stream)
{
    CKPROF_ENTER();
    delete stream;
    return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t* event)
{
    CKPROF_ENTER();
    *event = new ihipEvent_t;
    return hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) { return hipEventCreate(event); }

hipError_t hipEventDestroy(hipEvent_t event)
{
    delete event; // also of a device that answers nothing else
    return enter(__func__);
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t)
{
    CKPROF_ENTER();
    event->at = Clock::now();
    return hipSuccess;
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    CKPROF_ENTER();
    return event->at ? hipSuccess : remember(hipErrorInvalidHandle);
}

hipError_t hipEventQuery(hipEvent_t event) { return hipEventSynchronize(event); }

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop)
{
    CKPROF_ENTER();
    if(!start->at || !stop->at) return remember(hipErrorInvalidHandle);
    *milliseconds = std::chrono::duration<float, std::milli>(*stop->at - *start->at).count();
    return hipSuccess;
}
