// A kernel library with one kernel per way to behave. All of them "convolve" with a single weight:
// output[i] = input[i] * weight[0]; the ok_* kernels do it right.
#include "ckprof_abi.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

int run_count    = 0;
int worker_count = -1;
// launches in each of two units since that was asked last
int wide_launches = 0, narrow_launches = 0;

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

ckprof_status exit_in_support(const ckprof_problem*, ckprof_plan*, ckprof_report, void*)
{ _exit(0); }

// As if so many splits excused any error.
ckprof_status claim_splits(const ckprof_problem*, ckprof_plan* plan, ckprof_report, void*)
{
    *plan = {0, 1 << 30};
    return CKPROF_OK;
}

#define RUN(name, ...)                                                                             \
    ckprof_status name(                                                                            \
        const ckprof_problem& p, const ckprof_buffers& b, char* reason, size_t size)               \
    {                                                                                              \
        [[maybe_unused]] auto* in        = static_cast<float*>(b.input);                           \
        [[maybe_unused]] auto* wei       = static_cast<float*>(b.weight);                          \
        [[maybe_unused]] auto* out       = static_cast<float*>(b.output);                          \
        [[maybe_unused]] const int64_t n = elements(p);                                            \
        (void)reason;                                                                              \
        (void)size;                                                                                \
        __VA_ARGS__;                                                                               \
        return CKPROF_OK;                                                                          \
    }

RUN(ok, multiply(p, b, n))
RUN(ok_in_units, {
    ++(run_count % 2 == 0 ? wide_launches : narrow_launches);
    multiply(p, b, n);
})

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
RUN(lacks_shared, {
    say(reason, size, "device-shared-memory: the tile needs 300000 bytes");
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
RUN(wrong_if_small, {
    multiply(p, b, n);
    if(n < 100) out[5] += 3;
})

// What follows tries to be called right although it is not, or to harm those that come after it.

constexpr int first_descriptor = 3;
constexpr int last_descriptor  = 32;

void write_everywhere(const std::string& text)
{
    for(int fd = first_descriptor; fd < last_descriptor; ++fd)
        if(write(fd, text.data(), text.size()) < 0) {}
}

// The nonce of the request that is being served, from this process's own memory.
std::string find_nonce()
{
    const std::string mark = " {\"method\":\"run\"";
    std::ifstream maps("/proc/self/maps");
    for(std::string line; std::getline(maps, line);)
    {
        unsigned long begin = 0, end = 0;
        char access[5] = "";
        if(std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) continue;
        if(std::string(access) != "rw-p" || line.find("stack") != std::string::npos) continue;
        const char* const last = reinterpret_cast<const char*>(end);
        const char* at         = reinterpret_cast<const char*>(begin) + 32;
        while((at = static_cast<const char*>(memmem(at, last - at, mark.data(), mark.size()))))
        {
            const std::string nonce(at - 32, at);
            if(nonce.find_first_not_of("0123456789abcdef") == std::string::npos) return nonce;
            ++at;
        }
    }
    return "";
}

RUN(forges_line, write_everywhere("{\"result\":[0,\"\",0.1]}\n"))
RUN(forges_guessed_nonce, write_everywhere(std::string(32, '0') + " {\"result\":[0,\"\",0.1]}\n"))
RUN(forges_nonce, {
    const std::string nonce = find_nonce();
    if(nonce.empty()) std::abort();
    write_everywhere(nonce + " {\"result\":[0,\"\",0.1]}\n");
})
RUN(forges_nonce_and_is_right, {
    multiply(p, b, n);
    const std::string nonce = find_nonce();
    if(!nonce.empty()) write_everywhere(nonce + " {\"result\":[0,\"\",1e-6]}\n");
})
RUN(endless_line, {
    const std::string much(1 << 16, 'x');
    for(int i = 0; i < 1 << 12; ++i) write_everywhere(much);
})
RUN(prints_much, {
    multiply(p, b, n);
    static bool done = false;
    const std::string much(1 << 20, 'x');
    for(int i = 0; i < 64 && !done; ++i) std::fwrite(much.data(), 1, much.size(), stdout);
    std::fflush(stdout);
    done = true;
})
RUN(exits_later, {
    multiply(p, b, n);
    static int runs = 0;
    if(++runs > 2) _exit(0);
})
RUN(twins, {
    multiply(p, b, n);
    fork();
})
RUN(leaves_writer, {
    multiply(p, b, n);
    if(fork() == 0)
    {
        usleep(100'000);
        for(int i = 0; i < 100; ++i)
        {
            write_everywhere("late\n");
            usleep(10'000);
        }
        _exit(0);
    }
})
RUN(leaves_daemon, {
    multiply(p, b, n);
    static bool done = false;
    if(!done && fork() == 0)
    {
        setsid();
        if(fork() == 0) sleep(600);
        _exit(0);
    }
    done = true;
})
RUN(closes_all, {
    multiply(p, b, n);
    for(int fd = first_descriptor; fd < last_descriptor; ++fd) close(fd);
})
RUN(closes_standard, {
    multiply(p, b, n);
    for(int fd = 0; fd < 3; ++fd) close(fd);
})
RUN(redirects, {
    multiply(p, b, n);
    const int nothing = open("/dev/null", O_RDWR);
    for(int fd = first_descriptor; fd < last_descriptor; ++fd)
        if(fd != nothing) dup2(nothing, fd);
})
RUN(reads_requests, {
    char c;
    for(int fd = first_descriptor; fd < last_descriptor; ++fd)
        while(read(fd, &c, 1) > 0) {}
})
RUN(truncates, {
    multiply(p, b, n);
    for(int fd = first_descriptor; fd < last_descriptor; ++fd)
        if(ftruncate(fd, 0) != 0) {}
})
RUN(unmaps_shared, {
    multiply(p, b, n);
    std::ifstream maps("/proc/self/maps");
    for(std::string line; std::getline(maps, line);)
    {
        unsigned long begin = 0, end = 0;
        if(line.find("memfd:ckprof") == std::string::npos) continue;
        std::sscanf(line.c_str(), "%lx-%lx", &begin, &end);
        munmap(reinterpret_cast<void*>(begin), end - begin);
    }
})
RUN(removes_files, {
    multiply(p, b, n);
    if(DIR* folder = opendir("."))
    {
        while(const dirent* entry = readdir(folder)) std::remove(entry->d_name);
        closedir(folder);
    }
})
RUN(allows_no_files, {
    multiply(p, b, n);
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
})
RUN(stops, raise(SIGSTOP))
RUN(interrupts, raise(SIGINT))
RUN(kills_group, kill(0, SIGKILL))
RUN(ignores_signals, {
    for(int signal = 1; signal < 32; ++signal) ::signal(signal, SIG_IGN);
    for(volatile bool go = true; go;) {}
})
RUN(sets_alarm, {
    multiply(p, b, n);
    const itimerval soon = {{0, 0}, {0, 150'000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
})
RUN(throws, throw std::runtime_error("thrown by a kernel"))
RUN(overflows_stack, {
    struct Deep
    {
        static int fall(int depth)
        {
            volatile char room[4096];
            room[depth % 4096] = 1;
            return fall(depth + 1) + room[0];
        }
    };
    out[0] = static_cast<float>(Deep::fall(0));
})
RUN(writes_late, {
    multiply(p, b, n);
    static bool started = false;
    if(!started)
        std::thread([=] {
            for(;;)
            {
                out[n / 2] = -1;
                usleep(50);
            }
        }).detach();
    started = true;
})
RUN(only_first_run, {
    static bool done = false;
    if(!done) multiply(p, b, n);
    done = true;
})
RUN(wrong_later, {
    multiply(p, b, n);
    static int runs = 0;
    if(++runs > 2) out[3] += 1;
})
RUN(writes_5000_after, {
    multiply(p, b, n);
    reinterpret_cast<char*>(out + n)[5000] = 1;
})
RUN(writes_200k_before, {
    multiply(p, b, n);
    reinterpret_cast<char*>(out)[-200'000] = 1;
})

// Right results with durations that are not.
template <int tenths, bool idle>
ckprof_status
claims(const ckprof_problem* p, const ckprof_buffers* b, int32_t, double* time_ms, char*, size_t)
{
    multiply(*p, *b, elements(*p));
    if(idle) spin(60);
    *time_ms = tenths == 0 ? 1e-9 : tenths / 10.0;
    if(tenths == -2) *time_ms = std::numeric_limits<double>::quiet_NaN();
    if(tenths == -3) *time_ms = std::numeric_limits<double>::infinity();
    return CKPROF_OK;
}

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
    KERNEL(ok_in_units),
    KERNEL(ok_10ms),
    KERNEL(slow),
    KERNEL(rejects_run),
    KERNEL(lacks_shared),
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
    KERNEL(wrong_if_small),
    KERNEL(forges_line),
    KERNEL(forges_guessed_nonce),
    KERNEL(forges_nonce),
    KERNEL(forges_nonce_and_is_right),
    KERNEL(endless_line),
    KERNEL(prints_much),
    KERNEL(exits_later),
    KERNEL(twins),
    KERNEL(leaves_writer),
    KERNEL(leaves_daemon),
    KERNEL(closes_all),
    KERNEL(closes_standard),
    KERNEL(redirects),
    KERNEL(reads_requests),
    KERNEL(truncates),
    KERNEL(unmaps_shared),
    KERNEL(removes_files),
    KERNEL(allows_no_files),
    KERNEL(stops),
    KERNEL(interrupts),
    KERNEL(kills_group),
    KERNEL(ignores_signals),
    KERNEL(sets_alarm),
    KERNEL(throws),
    KERNEL(overflows_stack),
    KERNEL(writes_late),
    KERNEL(only_first_run),
    KERNEL(wrong_later),
    KERNEL(writes_5000_after),
    KERNEL(writes_200k_before),
    {"claims_long", "fake_claims_long", supported, text<101>, claims<10'000'000, false>},
    {"claims_short", "fake_claims_short", supported, text<102>, claims<0, true>},
    {"claims_nothing_taken", "fake_claims_nothing_taken", supported, text<103>, claims<0, false>},
    {"claims_negative", "fake_claims_negative", supported, text<104>, claims<-10, false>},
    {"claims_nan", "fake_claims_nan", supported, text<105>, claims<-2, false>},
    {"claims_infinite", "fake_claims_infinite", supported, text<106>, claims<-3, false>},
    {"claims_splits", "fake_claims_splits", claim_splits, text<107>, run<wrong>},
    {"exits_in_support", "fake_exits_in_support", exit_in_support, text<108>, run<ok>},
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
    // as a device that is lost: whoever asks for its name still gets it
    if(const char* file = std::getenv("FAKE_LOST"))
        if(std::FILE* lost = std::fopen(file, "r")) return std::fclose(lost), CKPROF_FAILED;
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

// with memory of its own, in GiB, if that is asked for
ckprof_status identify_device(ckprof_device* device)
{
    const char* memory = std::getenv("FAKE_MEMORY_GIB");
    if(!memory) return CKPROF_FAILED;
    std::snprintf(device->model, sizeof device->model, "fake device");
    device->memory_bytes = uint64_t(std::atoi(memory)) << 30;
    return CKPROF_OK;
}

const ckprof_target target = {"fake",
                              select_device,
                              set_cpu_threads,
                              describe_device,
                              allocate,
                              std::free,
                              copy,
                              copy,
                              flush_cache,
                              available_bytes,
                              nullptr,
                              identify_device};

} // namespace

extern "C" const ckprof_library* ckprof_get_library(void)
{
    static const ckprof_kernel* pointers[kernel_count];
    for(size_t i = 0; i < kernel_count; ++i) pointers[i] = &kernel_table[i];
    static const ckprof_library library = {CKPROF_ABI_VERSION, kernel_count, pointers, &target};
    return &library;
}

extern "C" void ckprof_units_used(char* names, size_t names_size)
{
    const std::string wide = wide_launches > 0 ? "wide" : "";
    const std::string text = narrow_launches == 0 ? wide
                             : wide.empty()       ? "narrow"
                                                  : wide + ",narrow";
    say(names, names_size, text.c_str());
    wide_launches = narrow_launches = 0;
}
