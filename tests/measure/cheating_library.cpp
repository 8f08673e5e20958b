// Kernels that want to be taken for faster than they are, or for right although they are not
// always. All of them "convolve" with a single weight, output[i] = input[i] * weight[0], which
// takes one of them half a millisecond; the honest ones do it each time.
#include "ckprof_abi.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr double work_ms = 0.5;

struct Work
{
    const float* in;
    const float* wei;
    float* out;
    int64_t n;
    int64_t images;
};

void spin(double ms)
{
    auto end = Clock::now() + std::chrono::duration<double, std::milli>(ms);
    while(Clock::now() < end) {}
}

void multiply(const Work& w, float* out, int64_t begin, int64_t end)
{
    for(int64_t i = begin; i < end; ++i) out[i] = w.in[i] * w.wei[0];
}

void compute(const Work& w)
{
    spin(work_ms);
    multiply(w, w.out, 0, w.n);
}

void copy(const Work& w, const std::vector<float>& saved)
{ std::memcpy(w.out, saved.data(), sizeof(float) * w.n); }

std::vector<float> result_of(const Work& w) { return {w.out, w.out + w.n}; }

using Body = void (*)(const Work&);

// --- honest ------------------------------------------------------------------------------------

void honest(const Work& w) { compute(w); }

void honest_fast(const Work& w) { multiply(w, w.out, 0, w.n); }

// Sums are rounded in another way each time, as those of atomic additions.
void honest_atomics(const Work& w)
{
    compute(w);
    static int runs = 0;
    ++runs;
    for(int64_t i = runs % 7; i < w.n; i += 7)
    {
        uint32_t bits;
        std::memcpy(&bits, &w.out[i], sizeof(bits));
        if(w.out[i] != std::floor(w.out[i])) ++bits; // sums of integers are exact
        std::memcpy(&w.out[i], &bits, sizeof(bits));
    }
}

// A pool of threads that waits, as that of an OpenMP runtime: it looks for work for some time
// first.
void honest_pool(const Work& w)
{
    compute(w);
    std::thread([] { spin(20); }).detach();
}

// Weights are packed anew each time.
void honest_packing(const Work& w)
{
    static std::vector<float> packed;
    packed.assign(w.wei, w.wei + 1);
    spin(work_ms);
    for(int64_t i = 0; i < w.n; ++i) w.out[i] = w.in[i] * packed[0];
}

// --- wrong now and then ------------------------------------------------------------------------

template <int every>
void flaky(const Work& w)
{
    multiply(w, w.out, 0, w.n);
    static int runs = 0;
    if(++runs % every == 0) w.out[w.n / 2] += 1;
}

// Sums that are rounded in another way each time hide one that is wrong.
void flaky_among_atomics(const Work& w)
{
    honest_atomics(w);
    static int runs = 0;
    if(++runs % 3 == 0) w.out[w.n / 2] += 1;
}

// --- results that are not computed -------------------------------------------------------------

void first_three_calls(const Work& w)
{
    static int runs = 0;
    if(++runs <= 3) compute(w);
}

void first_three_calls_then_copy(const Work& w)
{
    static std::vector<float> saved;
    static int runs = 0;
    if(++runs > 3) return copy(w, saved);
    compute(w);
    saved = result_of(w);
}

void cached_by_pointer(const Work& w)
{
    static const void* seen = nullptr;
    static std::vector<float> saved;
    if(w.in == seen) return copy(w, saved);
    compute(w);
    seen  = w.in;
    saved = result_of(w);
}

// The contents of a few elements of both operands are the key.
template <int samples>
void cached_by_samples(const Work& w)
{
    static std::vector<float> key, saved;
    std::vector<float> now = {w.wei[0]};
    for(int i = 0; i < samples; ++i) now.push_back(w.in[w.n / 10 * i / samples]);
    if(now == key) return copy(w, saved);
    compute(w);
    key   = now;
    saved = result_of(w);
}

void cached_by_weights(const Work& w)
{
    static float key = 0;
    static std::vector<float> saved;
    if(!saved.empty() && w.wei[0] == key) return copy(w, saved);
    compute(w);
    key   = w.wei[0];
    saved = result_of(w);
}

// Only the products with the first weight are right; a packed weight that nobody looks at again.
void packs_weights_once(const Work& w)
{
    static const float packed = w.wei[0];
    spin(work_ms / 10);
    for(int64_t i = 0; i < w.n; ++i) w.out[i] = w.in[i] * packed;
}

uint32_t first_word(const Work& w)
{
    uint32_t word;
    std::memcpy(&word, w.out, sizeof(word));
    return word;
}

// Nobody seems to look where the result was not poisoned.
void computes_when_poisoned(const Work& w)
{
    if(first_word(w) == 0xffffffffu) compute(w);
}

// What was there before the last launch may be the right result.
void keeps_what_is_there(const Work& w)
{
    static int runs = 0;
    if(++runs <= 2 || w.out[0] != w.in[0] * w.wei[0]) multiply(w, w.out, 0, w.n);
}

void only_first_half_later(const Work& w)
{
    static int runs = 0;
    if(++runs <= 3) return compute(w);
    spin(work_ms / 2);
    multiply(w, w.out, 0, w.n / 2);
}

// Honest for as long as a kernel is usually looked at.
constexpr int honest_runs = 250;

void copies_later(const Work& w)
{
    static std::vector<float> saved;
    static int runs = 0;
    if(++runs > honest_runs) return copy(w, saved);
    compute(w);
    saved = result_of(w);
}

void half_later(const Work& w)
{
    static int runs = 0;
    if(++runs <= honest_runs) return compute(w);
    multiply(w, w.out, 0, w.n / 2);
}

// What it computes stays right.
void writes_outside_later(const Work& w)
{
    compute(w);
    static int runs = 0;
    if(++runs > honest_runs) w.out[w.n] = 0;
}

// Looks for the result that the process has copied out somewhere: memory that it has given back, or
// shares with others. What fits a few elements is taken for it.
void searches_memory(const Work& w)
{
    static int runs = 0;
    if(++runs <= 2) return compute(w);
    const float first[2] = {w.in[0] * w.wei[0], w.in[1] * w.wei[0]};
    std::ifstream maps("/proc/self/maps");
    for(std::string line; std::getline(maps, line);)
    {
        unsigned long begin = 0, end = 0;
        char access[5] = "";
        if(std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) continue;
        if(std::strncmp(access, "rw", 2) != 0 || line.find("stack") != std::string::npos) continue;
        const char* const last = reinterpret_cast<const char*>(end) - sizeof(float) * w.n;
        const char* at         = reinterpret_cast<const char*>(begin);
        while(at < last && (at = static_cast<const char*>(
                                memmem(at, last - at, first, sizeof(first)))) != nullptr)
        {
            const char* const here = reinterpret_cast<const char*>(w.out);
            if(at != here)
            {
                std::memcpy(w.out, at, sizeof(float) * w.n);
                return;
            }
            ++at;
        }
    }
    std::memset(w.out, 0, sizeof(float) * w.n);
}

// What the allocator returns may hold what was there before.
void reads_recycled_memory(const Work& w)
{
    static int runs = 0;
    if(++runs <= 2) return compute(w);
    void* recycled = std::malloc(sizeof(float) * w.n);
    std::memcpy(w.out, recycled, sizeof(float) * w.n);
    std::free(recycled);
}

// The operands of later launches are cheaper ones.
void changes_its_input(const Work& w)
{
    compute(w);
    static int runs = 0;
    if(++runs > 3) const_cast<float*>(w.in)[w.n - 1] = 0;
}

// --- work that is done elsewhere ---------------------------------------------------------------

void leaves_a_thread(const Work& w)
{
    static int runs = 0;
    if(++runs <= 2) return compute(w);
    std::thread([w] { compute(w); }).detach();
}

// A launch does the first part and leaves the rest to a thread that is soon done.
void finishes_later(const Work& w)
{
    static int runs = 0;
    if(++runs <= 2) return compute(w);
    multiply(w, w.out, 0, w.n / 2);
    std::thread([w] {
        usleep(200);
        multiply(w, w.out, w.n / 2, w.n);
    }).detach();
}

// A thread computes ahead of launches whenever operands change; launches copy.
struct Ahead
{
    std::atomic<bool> ready{false};
    std::vector<float> result;
    float last_in = 0, last_wei = 0;
};

void computes_ahead(const Work& w)
{
    static Ahead& ahead = *new Ahead;
    static bool started = false;
    if(!started)
    {
        started = true;
        compute(w);
        std::thread([w] {
            for(;;)
            {
                std::vector<float> next(w.n);
                multiply(w, next.data(), 0, w.n);
                if(!ahead.ready.load()) ahead.result.swap(next);
                ahead.ready.store(true);
                spin(0.05);
            }
        }).detach();
        return;
    }
    if(!ahead.ready.load()) return compute(w);
    copy(w, ahead.result);
    ahead.ready.store(false);
}

// --- the table ---------------------------------------------------------------------------------

Work work_of(const ckprof_problem& p, const ckprof_buffers& b)
{
    int64_t n = p.batch;
    for(int i = 0; i < p.ndim; ++i) n *= p.input[i];
    return {static_cast<const float*>(b.input),
            static_cast<const float*>(b.weight),
            static_cast<float*>(b.output),
            n,
            p.batch};
}

// reported: hundredths of what it took.
template <Body body, int reported = 100>
ckprof_status
run(const ckprof_problem* p, const ckprof_buffers* b, int32_t, double* time_ms, char*, size_t)
{
    const auto start = Clock::now();
    body(work_of(*p, *b));
    const double spent = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    *time_ms           = spent * reported / 100;
    return CKPROF_OK;
}

// A clock of the library's own, as if it had replaced the system's.
template <Body body>
ckprof_status run_by_own_clock(
    const ckprof_problem* p, const ckprof_buffers* b, int32_t, double* time_ms, char*, size_t)
{
    static double now_ms = 0;
    const double start   = now_ms;
    body(work_of(*p, *b));
    now_ms += 0.1;
    *time_ms = now_ms - start;
    return CKPROF_OK;
}

// Starts its clock when most of the work is done.
ckprof_status run_before_start(
    const ckprof_problem* p, const ckprof_buffers* b, int32_t, double* time_ms, char*, size_t)
{
    const Work w = work_of(*p, *b);
    std::vector<float> result(w.n);
    spin(work_ms);
    multiply(w, result.data(), 0, w.n);
    const auto start = Clock::now();
    copy(w, result);
    *time_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
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
#define CHEAT(name) KERNEL(name, run<name>)

constexpr auto samples_3  = cached_by_samples<3>;
constexpr auto samples_16 = cached_by_samples<16>;

const ckprof_kernel kernel_table[] = {
    CHEAT(honest),
    CHEAT(honest_fast),
    CHEAT(honest_atomics),
    CHEAT(honest_pool),
    CHEAT(honest_packing),
    KERNEL(flaky_1_in_3, run<flaky<3>>),
    KERNEL(flaky_1_in_50, run<flaky<50>>),
    CHEAT(flaky_among_atomics),
    CHEAT(first_three_calls),
    CHEAT(first_three_calls_then_copy),
    CHEAT(cached_by_pointer),
    KERNEL(cached_by_3_samples, run<cached_by_samples<3>>),
    KERNEL(cached_by_16_samples, run<cached_by_samples<16>>),
    CHEAT(cached_by_weights),
    CHEAT(packs_weights_once),
    CHEAT(computes_when_poisoned),
    CHEAT(keeps_what_is_there),
    CHEAT(only_first_half_later),
    CHEAT(copies_later),
    CHEAT(half_later),
    CHEAT(writes_outside_later),
    CHEAT(searches_memory),
    CHEAT(reads_recycled_memory),
    CHEAT(changes_its_input),
    CHEAT(leaves_a_thread),
    CHEAT(finishes_later),
    CHEAT(computes_ahead),
    KERNEL(reports_half, run<honest, 50>),
    KERNEL(own_clock, run_by_own_clock<honest>),
    KERNEL(starts_clock_late, run_before_start),
};
constexpr size_t kernel_count = sizeof(kernel_table) / sizeof(kernel_table[0]);

ckprof_status select_device(const char*, int32_t, char*, size_t) { return CKPROF_OK; }
void set_cpu_threads(int32_t) {}
void describe_device(char* text, size_t size) { std::snprintf(text, size, "this machine"); }
void* allocate(size_t bytes) { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }

ckprof_status copy_bytes(void* to, const void* from, size_t bytes)
{
    std::memcpy(to, from, bytes);
    return CKPROF_OK;
}

ckprof_status flush_cache(size_t) { return CKPROF_OK; }
uint64_t available_bytes() { return uint64_t{1} << 30; }

const ckprof_target target = {"fake",
                              select_device,
                              set_cpu_threads,
                              describe_device,
                              allocate,
                              std::free,
                              copy_bytes,
                              copy_bytes,
                              flush_cache,
                              available_bytes,
                              nullptr,
                              nullptr};

} // namespace

extern "C" const ckprof_library* ckprof_get_library(void)
{
    static const ckprof_kernel* pointers[kernel_count];
    for(size_t i = 0; i < kernel_count; ++i) pointers[i] = &kernel_table[i];
    static const ckprof_library library = {CKPROF_ABI_VERSION, kernel_count, pointers, &target};
    return &library;
}
