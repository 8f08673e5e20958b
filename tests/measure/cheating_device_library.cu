// Kernels on a GPU that want to be taken for faster than they are, or for right although they are
// not always. All of them "convolve" with a single weight, output[i] = input[i] * weight[0], and
// take some time for it.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#define CKPROF_RUNTIME(name) cuda##name
#include "ckprof_device_api.hpp"
#include "ckprof_device_checks.hpp"

namespace {

struct api : ckprof::device_api
{ static constexpr const char* vendor = "NVIDIA"; };

using device = ckprof::device_target::functions<api>;

// Cycles that the multiplication takes beside what it needs.
constexpr long long idle_cycles = 100'000;

__global__ void scale(const float* in, const float* wei, float* out, int64_t n, long long cycles)
{
    const long long start = clock64();
    while(clock64() - start < cycles) {}
    for(int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n;
        i += int64_t{gridDim.x} * blockDim.x)
        out[i] = in[i] * wei[0];
}

__global__ void spoil(float* out, int64_t at) { out[at] += 1; }

// Changes the last bit of some elements, as other orders of additions do.
__global__ void jitter(float* out, int64_t n, int phase)
{
    for(int64_t i = threadIdx.x; i < n; i += blockDim.x)
        if(i % 7 == phase && out[i] != floorf(out[i]))
            out[i] = __int_as_float(__float_as_int(out[i]) + 1);
}

struct Work
{
    const float* in;
    const float* wei;
    float* out;
    int64_t n;
};

void compute(const Work& w, cudaStream_t stream = nullptr)
{ scale<<<64, 256, 0, stream>>>(w.in, w.wei, w.out, w.n, idle_cycles); }

// Keeps what was computed in memory of the library's own.
struct Saved
{
    float* memory = nullptr;
    void keep(const Work& w)
    {
        if(memory == nullptr) (void)cudaMalloc(&memory, sizeof(float) * w.n);
        (void)cudaMemcpyAsync(
            memory, w.out, sizeof(float) * w.n, cudaMemcpyDeviceToDevice, nullptr);
    }
    void give(const Work& w) const
    {
        (void)cudaMemcpyAsync(
            w.out, memory, sizeof(float) * w.n, cudaMemcpyDeviceToDevice, nullptr);
    }
};

cudaStream_t side_stream(unsigned flags)
{
    static cudaStream_t streams[2] = {};
    cudaStream_t& stream           = streams[flags != 0];
    if(stream == nullptr) (void)cudaStreamCreateWithFlags(&stream, flags);
    return stream;
}

void honest(const Work& w) { compute(w); }

void honest_atomics(const Work& w)
{
    static int runs = 0;
    compute(w);
    jitter<<<1, 256>>>(w.out, w.n, ++runs % 7);
}

// A stream of its own, for which the given one waits.
void honest_side_stream(const Work& w) { compute(w, side_stream(cudaStreamDefault)); }

template <int every>
void flaky(const Work& w)
{
    static int runs = 0;
    compute(w);
    if(++runs % every == 0) spoil<<<1, 1>>>(w.out, w.n / 2);
}

void first_three_calls(const Work& w)
{
    static int runs = 0;
    if(++runs <= 3) compute(w);
}

void cached_by_pointer(const Work& w)
{
    static Saved& saved     = *new Saved;
    static const void* seen = nullptr;
    if(w.in == seen) return saved.give(w);
    compute(w);
    seen = w.in;
    saved.keep(w);
}

void cached_by_samples(const Work& w)
{
    static Saved& saved = *new Saved;
    static float key[5] = {};
    float now[5]        = {};
    for(int i = 0; i < 4; ++i)
        (void)cudaMemcpy(&now[i], w.in + w.n / 9 * i, sizeof(float), cudaMemcpyDeviceToHost);
    (void)cudaMemcpy(&now[4], w.wei, sizeof(float), cudaMemcpyDeviceToHost);
    if(std::memcmp(key, now, sizeof(key)) == 0) return saved.give(w);
    compute(w);
    std::memcpy(key, now, sizeof(key));
    saved.keep(w);
}

// Events of the given stream see nothing of it, and nobody waits for it.
void side_stream_unseen(const Work& w) { compute(w, side_stream(cudaStreamNonBlocking)); }

void computes_when_poisoned(const Work& w)
{
    uint32_t word = 0;
    (void)cudaMemcpy(&word, w.out, sizeof(word), cudaMemcpyDeviceToHost);
    if(word == 0xffffffffu) compute(w);
}

using Body = void (*)(const Work&);

// settle: waits for the whole device when its clock has stopped. reported: hundredths of what it
// took.
template <Body body, bool settle = false, int reported = 100>
ckprof_status run(const ckprof_problem* p,
                  const ckprof_buffers* b,
                  int32_t launches,
                  double* time_ms,
                  char*,
                  size_t)
{
    static cudaEvent_t begin = nullptr, end = nullptr;
    if(begin == nullptr)
    {
        (void)cudaEventCreate(&begin);
        (void)cudaEventCreate(&end);
    }
    int64_t n = p->batch;
    for(int i = 0; i < p->ndim; ++i) n *= p->input[i];
    const Work w    = {static_cast<const float*>(b->input),
                       static_cast<const float*>(b->weight),
                       static_cast<float*>(b->output),
                       n};
    const int count = launches > 0 ? launches : 1;
    (void)cudaEventRecord(begin, nullptr);
    for(int i = 0; i < count; ++i) body(w);
    (void)cudaEventRecord(end, nullptr);
    (void)cudaEventSynchronize(end);
    float taken_ms = 0;
    (void)cudaEventElapsedTime(&taken_ms, begin, end);
    if(settle) (void)cudaDeviceSynchronize();
    *time_ms = double{taken_ms} * reported / 100 / count;
    return CKPROF_OK;
}

ckprof_status supported(const ckprof_problem*, ckprof_plan* plan, ckprof_report, void*)
{
    *plan = {0, 1};
    return CKPROF_OK;
}

ckprof_status text(char* text, size_t size)
{
    std::snprintf(text, size, "cheat");
    return CKPROF_OK;
}

#define KERNEL(name, ...) {#name, #name, supported, text, __VA_ARGS__}

const ckprof_kernel kernel_table[] = {
    KERNEL(honest, run<honest>),
    KERNEL(honest_atomics, run<honest_atomics>),
    KERNEL(honest_side_stream, run<honest_side_stream>),
    KERNEL(flaky_1_in_3, run<flaky<3>>),
    KERNEL(flaky_1_in_50, run<flaky<50>>),
    KERNEL(first_three_calls, run<first_three_calls>),
    KERNEL(cached_by_pointer, run<cached_by_pointer>),
    KERNEL(cached_by_samples, run<cached_by_samples>),
    KERNEL(side_stream_unseen, run<side_stream_unseen>),
    KERNEL(side_stream_settled, run<side_stream_unseen, true>),
    KERNEL(computes_when_poisoned, run<computes_when_poisoned>),
    KERNEL(patched_events, run<honest, false, 10>),
};
constexpr size_t kernel_count = sizeof(kernel_table) / sizeof(kernel_table[0]);

ckprof_status select_device(const char*, int32_t index, char* reason, size_t size)
{
    const auto status = device::check_index(index, reason, size);
    return status == CKPROF_OK ? device::use(index, reason, size) : status;
}

void describe_device(char* text, size_t size) { std::snprintf(text, size, "a GPU"); }

ckprof_status identify_device(ckprof_device* found)
{
    std::snprintf(found->model, sizeof(found->model), "a GPU");
    found->event_clock = 1;
    return CKPROF_OK;
}

constexpr ckprof_target target =
    ckprof::device_target::table<api>("fake", &select_device, &describe_device, &identify_device);
constexpr ckprof_checks checks = ckprof::checks::table<ckprof::device_api>();

} // namespace

extern "C" __attribute__((visibility("default"))) const ckprof_checks* ckprof_get_checks(void)
{ return &checks; }

extern "C" const ckprof_library* ckprof_get_library(void)
{
    static const ckprof_kernel* pointers[kernel_count];
    for(size_t i = 0; i < kernel_count; ++i) pointers[i] = &kernel_table[i];
    static const ckprof_library library = {CKPROF_ABI_VERSION, kernel_count, pointers, &target};
    return &library;
}
