// A kernel library with one kernel per way to behave. All of them "convolve" with a single weight:
// output[i] = input[i] * weight[0]; the ok_* kernels do it right.
#include "ckprof_abi.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

int run_count    = 0;
int worker_count = -1;

int64_t elements(const ckprof_problem& p)
{
    int64_t n = p.groups * p.batch * p.out_channels;
    for(int i = 0; i < p.ndim; ++i) n *= p.input[i];
    return n;
}

void say(char* text, size_t size, const char* what) { std::snprintf(text, size, "%s", what); }

void multiply(const ckprof_problem& p, const ckprof_buffers& b, int64_t count)
{
    auto* in  = static_cast<const float*>(b.input);
    auto* wei = static_cast<const float*>(b.weight);
    auto* out = static_cast<float*>(b.output);
    for(int64_t i = 0; i < count; ++i) out[i] = in[i] * wei[0];
    (void)p;
}

void spin(double ms)
{
    auto end = Clock::now() + std::chrono::duration<double, std::milli>(ms);
    while(Clock::now() < end) {}
}

using Body = ckprof_status (*)(const ckprof_problem&, const ckprof_buffers&, char*, size_t);

template <Body body>
ckprof_status run(const ckprof_problem* p,
                  const ckprof_buffers* b,
                  int32_t time_it,
                  double* time_ms,
                  char* reason,
                  size_t size)
{
    ++run_count;
    auto start         = Clock::now();
    const auto status  = body(*p, *b, reason, size);
    const double spent = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    *time_ms           = time_it ? spent : 0;
    return status;
}

ckprof_status
supported(const ckprof_problem* p, ckprof_plan* plan, ckprof_report report, void* context)
{
    if(p->split_k == 0)
    {
        report(context, "split-k", "split_k = 0 is less than 1");
        return CKPROF_REJECTED;
    }
    *plan = {0, p->split_k < 0 ? 7 : p->split_k};
    return CKPROF_OK;
}

ckprof_status reject(const ckprof_problem*, ckprof_plan*, ckprof_report report, void* context)
{
    report(context, "vector-a", "C is not a multiple of 8");
    report(context, "specialization", "filter height = 3, not 1");
    return CKPROF_REJECTED;
}

ckprof_status fail_support(const ckprof_problem*, ckprof_plan*, ckprof_report report, void* context)
{
    report(context, "exception", "bad_function_call");
    return CKPROF_FAILED;
}

ckprof_status wants_workspace(const ckprof_problem* p, ckprof_plan* plan, ckprof_report, void*)
{
    *plan = {uint64_t{3} << 30, p->split_k};
    return CKPROF_OK;
}

ckprof_status crash_in_support(const ckprof_problem*, ckprof_plan*, ckprof_report, void*)
{ std::abort(); }

#define RUN(name, code)                                                                            \
    ckprof_status name(                                                                            \
        const ckprof_problem& p, const ckprof_buffers& b, char* reason, size_t size)               \
    {                                                                                              \
        [[maybe_unused]] auto* in        = static_cast<float*>(b.input);                           \
        [[maybe_unused]] auto* wei       = static_cast<float*>(b.weight);                          \
        [[maybe_unused]] auto* out       = static_cast<float*>(b.output);                          \
        [[maybe_unused]] const int64_t n = elements(p);                                            \
        (void)reason;                                                                              \
        (void)size;                                                                                \
        code;                                                                                      \
        return CKPROF_OK;                                                                          \
    }

RUN(ok, multiply(p, b, n))
RUN(ok_10ms, {
    multiply(p, b, n);
    spin(10);
})
RUN(slow, {
    multiply(p, b, n);
    spin(150);
})
RUN(rejects_run, {
    say(reason, size, "the grid is too large");
    return CKPROF_REJECTED;
})
RUN(fails, {
    say(reason, size, "bad launch");
    return CKPROF_FAILED;
})
RUN(fails_later, {
    multiply(p, b, n);
    static int runs = 0;
    if(++runs > 2)
    {
        say(reason, size, "third time unlucky");
        return CKPROF_FAILED;
    }
})
RUN(segfault, {
    std::fprintf(stderr, "about to fall\n");
    *reinterpret_cast<volatile int*>(8) = 1;
})
RUN(aborts, {
    std::fprintf(stderr, "assertion failed: x > 0\n");
    std::abort();
})
RUN(hangs, for(volatile bool go = true; go;){})
RUN(leaves_child, {
    if(fork() == 0)
    {
        sleep(600);
        _exit(0);
    }
    raise(SIGKILL);
})
RUN(exits, std::exit(0))
RUN(prints, {
    multiply(p, b, n);
    std::printf("{\"type\":\"measured\",\"status\":\"wrong_result\"}\n");
    std::fflush(stdout);
    char c;
    if(read(0, &c, 1) != 0) std::abort();
})
RUN(scribbles, {
    for(int fd = 3; fd < 16; ++fd)
        if(write(fd, "garbage\n", 8) < 0) {}
    multiply(p, b, n);
})
RUN(writes_before, {
    multiply(p, b, n);
    out[-1] = 0;
})
RUN(writes_after, {
    multiply(p, b, n);
    out[n] = 0;
})
RUN(writes_after_later, {
    multiply(p, b, n);
    static int runs = 0;
    if(++runs > 2) out[n + 3] = 0;
})
RUN(writes_before_weight, {
    multiply(p, b, n);
    wei[-2] = 0;
})
RUN(skips_last, multiply(p, b, n - 1))
RUN(writes_nothing, )
RUN(writes_nan, {
    multiply(p, b, n);
    out[1] = std::numeric_limits<float>::quiet_NaN();
})
RUN(writes_inf, {
    multiply(p, b, n);
    out[2] = std::numeric_limits<float>::infinity();
})
RUN(changes_input, {
    multiply(p, b, n);
    in[n - 1] += 1;
})
RUN(wrong, {
    multiply(p, b, n);
    out[5] += 3;
    out[7] += 2;
    out[8] -= 4;
})

ckprof_status
no_time(const ckprof_problem* p, const ckprof_buffers* b, int32_t, double* time_ms, char*, size_t)
{
    multiply(*p, *b, elements(*p));
    *time_ms = 0;
    return CKPROF_OK;
}

template <int index>
ckprof_status text(char* text, size_t size)
{
    std::snprintf(text, size, "FakeKernel<%d>", index);
    return CKPROF_OK;
}

ckprof_status text_fails(char* text, size_t size)
{
    say(text, size, "no text for this one");
    return CKPROF_FAILED;
}

ckprof_status text_crashes(char*, size_t) { std::abort(); }

#define KERNEL(name) {#name, "fake_" #name, supported, text<__COUNTER__>, run<name>}

const ckprof_kernel kernel_table[] = {
    KERNEL(ok),
    KERNEL(ok_10ms),
    KERNEL(slow),
    KERNEL(rejects_run),
    KERNEL(fails),
    KERNEL(fails_later),
    KERNEL(segfault),
    KERNEL(aborts),
    KERNEL(hangs),
    KERNEL(leaves_child),
    KERNEL(exits),
    KERNEL(prints),
    KERNEL(scribbles),
    KERNEL(writes_before),
    KERNEL(writes_after),
    KERNEL(writes_after_later),
    KERNEL(writes_before_weight),
    KERNEL(skips_last),
    KERNEL(writes_nothing),
    KERNEL(writes_nan),
    KERNEL(writes_inf),
    KERNEL(changes_input),
    KERNEL(wrong),
    {"unsupported", "fake_unsupported", reject, text_fails, run<ok>},
    {"support_fails", "fake_support_fails", fail_support, text_fails, run<ok>},
    {"wants_workspace", "fake_wants_workspace", wants_workspace, text_fails, run<ok>},
    {"support_crashes", "fake_support_crashes", crash_in_support, text_crashes, run<ok>},
    {"no_time", "fake_no_time", supported, text<100>, no_time},
};
constexpr size_t kernel_count = sizeof(kernel_table) / sizeof(kernel_table[0]);

ckprof_status select_device(const char* arch, int32_t index, char* reason, size_t size)
{
    if(std::getenv("FAKE_DIE_AT_START")) std::abort();
    if(std::strcmp(arch, "fake0") == 0 && index == 0) return CKPROF_OK;
    std::snprintf(reason, size, "there is no device %d of architecture %s", index, arch);
    return CKPROF_REJECTED;
}

void set_cpu_threads(int32_t workers) { worker_count = workers; }

void describe_device(char* text, size_t size)
{ std::snprintf(text, size, "fake device, %d workers", worker_count); }

void* allocate(size_t bytes)
{
    if(bytes > (size_t{1} << 26)) return nullptr;
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
}

ckprof_status copy(void* to, const void* from, size_t bytes)
{
    std::memcpy(to, from, bytes);
    return CKPROF_OK;
}

ckprof_status flush_cache(size_t bytes)
{
    static char* memory = nullptr;
    static size_t size  = 0;
    if(size != bytes)
    {
        std::free(memory);
        memory = bytes ? static_cast<char*>(std::malloc(bytes)) : nullptr;
        size   = bytes;
    }
    static int value = 0;
    if(memory) std::memset(memory, ++value, bytes);
    return CKPROF_OK;
}

uint64_t available_bytes() { return uint64_t{2} << 30; }

const ckprof_target target = {"fake",
                              select_device,
                              set_cpu_threads,
                              describe_device,
                              allocate,
                              std::free,
                              copy,
                              copy,
                              flush_cache,
                              available_bytes};

} // namespace

#ifndef FAKE_ABI_VERSION
#define FAKE_ABI_VERSION CKPROF_ABI_VERSION
#endif

extern "C" const ckprof_library* ckprof_get_library(void)
{
    static const ckprof_kernel* pointers[kernel_count];
    for(size_t i = 0; i < kernel_count; ++i) pointers[i] = &kernel_table[i];
    static const ckprof_library library = {FAKE_ABI_VERSION, kernel_count, pointers, &target};
    return &library;
}
