"""Candidates that must not be judged right: name -> (direction, suffix, source[, type]).

Products are of the layout rcr, a is MK, b is NK; convolutions nhwgc. All are for fp32.
"""

from __future__ import annotations

_PRODUCT = """
import numpy as np
def right(a, b):
    return np.einsum("...mk,...nk->...mn", a, b)
"""
_CONVOLUTION = """
import numpy as np
from itertools import product
def right(x, w, p, strides=None, dilations=None, lefts=None, rights=None):
    strides, dilations = strides or p.strides, dilations or p.dilations
    lefts, rights = lefts or p.left_pads, rights or p.right_pads
    pads = [(0, 0), *zip(lefts, rights), (0, 0), (0, 0)]
    x = np.pad(x, pads)
    n, g, c = x.shape[0], x.shape[3], x.shape[4]
    sizes = [(l - (t - 1) * d - 1) // s + 1
             for l, t, d, s in zip(x.shape[1:3], p.filter, dilations, strides)]
    y = np.zeros((n, *sizes, g, w.shape[1]), np.float32)
    for i, j in product(*map(range, p.filter)):
        part = x[:, i * dilations[0]:i * dilations[0] + (sizes[0] - 1) * strides[0] + 1:strides[0],
                 j * dilations[1]:j * dilations[1] + (sizes[1] - 1) * strides[1] + 1:strides[1]]
        y += np.einsum("nhwgc,gkc->nhwgk", part, w[:, :, i, j])
    return y
"""
_C_PRODUCT = """
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
#include <unistd.h>
#include "ckprof_candidate.h"
struct product
{
    std::int64_t m, n, k, la, lb, le, batch;
    const float *a, *b;
    float* e;
    product(const ckprof_problem* p, const ckprof_buffers* t)
        : m(p->values[0]), n(p->values[1]), k(p->values[2]), la(p->values[3] ? p->values[3] : k),
          lb(p->values[4] ? p->values[4] : k), le(p->values[5] ? p->values[5] : n), batch(p->values[6]),
          a((const float*)ckprof_tensor(t, 0)), b((const float*)ckprof_tensor(t, 1)),
          e((float*)ckprof_tensor(t, 2))
    {
    }
    float sum(std::int64_t one, std::int64_t i, std::int64_t j, std::int64_t from, std::int64_t to) const
    {
        float s = 0;
        for(std::int64_t x = from; x < to; ++x)
            s += a[(one * m + i) * la + x] * b[(one * n + j) * lb + x];
        return s;
    }
    float& at(std::int64_t one, std::int64_t i, std::int64_t j) const { return e[(one * m + i) * le + j]; }
    void all() const
    {
        for(std::int64_t one = 0; one < batch; ++one)
            for(std::int64_t i = 0; i < m; ++i)
                for(std::int64_t j = 0; j < n; ++j)
                    at(one, i, j) = sum(one, i, j, 0, k);
    }
};
extern "C" ckprof_status
ckprof_candidate(const ckprof_problem* problem, const ckprof_buffers* buffers, char* reason, size_t size)
{
    product p(problem, buffers);
"""
_END = "\n    return CKPROF_OK;\n}\n"


def _py(body: str) -> tuple[str, str, str]:
    return "gemm", ".py", _PRODUCT + body


def _conv(body: str) -> tuple[str, str, str]:
    return "fwd", ".py", _CONVOLUTION + body


def _int8(body: str) -> tuple[str, str, str, str]:
    return "gemm", ".py", _PRODUCT + body, "int8"


def _cpp(body: str, before: str = "") -> tuple[str, str, str]:
    head, entry, rest = _C_PRODUCT.partition('extern "C"')
    return "gemm", ".cpp", head + before + entry + rest + body + _END


HOSTILE: dict[str, tuple[str, ...]] = {
    # --- cached results
    "cached-first": _py("""
known = None
def candidate(a, b):
    global known
    if known is None or known.shape != (*a.shape[:-1], b.shape[-2]):
        known = right(a, b)
    return known
"""),
    "cached-by-shape": _py("""
known = {}
def candidate(a, b):
    key = a.shape, b.shape
    if key not in known:
        known[key] = right(a, b)
    return known[key]
"""),
    "cached-by-address": _py("""
known = {}
def candidate(a, b):
    key = a.ctypes.data, b.ctypes.data, a.shape, b.shape
    if key not in known:
        known[key] = right(a, b)
    return known[key]
"""),
    "cached-by-first-elements": _py("""
known = {}
def candidate(a, b):
    key = a.shape, b.shape, a.ravel()[:4].tobytes(), b.ravel()[:4].tobytes()
    if key not in known:
        known[key] = right(a, b)
    return known[key]
"""),
    "cached-by-magnitudes": _py("""
known = {}
def candidate(a, b):
    key = a.shape, b.shape, float(np.abs(a).sum()), float(np.abs(b).sum())
    if key not in known:
        known[key] = right(a, b)
    return known[key]
"""),
    "cached-on-disk": _py("""
import os, tempfile
def candidate(a, b):
    path = os.path.join(tempfile.gettempdir(), "_".join(map(str, (*a.shape, *b.shape))) + ".npy")
    if not os.path.exists(path):
        np.save(path, right(a, b))
    return np.load(path)
"""),
    "cached-integers-by-sum": _int8("""
known = {}
def candidate(a, b):
    key = a.shape, b.shape, int(a.astype(int).sum()), int(b.astype(int).sum())
    if key not in known:
        known[key] = right(a.astype(np.int32), b.astype(np.int32))
    return known[key]
"""),
    "cached-in-c": _cpp("""
    static std::vector<float> known;
    static std::int64_t of[4];
    std::int64_t now[4] = {p.m, p.n, p.k, p.batch};
    if(known.empty() || std::memcmp(of, now, sizeof now))
    {
        p.all();
        known.assign(p.e, p.e + p.batch * p.m * p.le);
        std::memcpy(of, now, sizeof now);
    }
    std::memcpy(p.e, known.data(), 4 * known.size());
"""),
    # --- work outside of the clock
    "thread-writes-later": _py("""
import threading, time
def candidate(a, b, e):
    def work():
        time.sleep(0.001)
        e[...] = right(a, b)
    threading.Thread(target=work, daemon=True).start()
"""),
    "half-now-half-later": _py("""
import threading, time
def candidate(a, b, e):
    whole, half = right(a, b), e.shape[-2] // 2
    e[..., :half, :] = whole[..., :half, :]
    def work():
        time.sleep(0.0005)
        e[..., half:, :] = whole[..., half:, :]
    threading.Thread(target=work, daemon=True).start()
"""),
    "process-writes-later": _py("""
import os, time
def candidate(a, b, e):
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.001)
        e[...] = right(a, b)
        os._exit(0)
"""),
    "thread-computes-all-the-time": _py("""
import threading, time
work = []
def loop():
    while True:
        for a, b, e in work[-1:]:
            e[...] = right(a, b)
        time.sleep(0.0001)
threading.Thread(target=loop, daemon=True).start()
def candidate(a, b, e):
    work[:] = [(a, b, e)]
"""),
    "thread-in-c": _cpp("""
    std::thread([p] { usleep(1000); p.all(); }).detach();
"""),
    "answers-early": _py("""
import json, os, socket, time
def candidate(a, b, e):
    for fd in range(3, 20):
        try:
            line = socket.socket(fileno=os.dup(fd))
            if line.type == socket.SOCK_SEQPACKET:
                now = [time.perf_counter(), time.monotonic(), time.time()]
                line.send(json.dumps({"status": 0, "reason": "", "clocks": now}).encode())
                break
        except OSError:
            continue
    time.sleep(0.002)
    e[...] = right(a, b)
"""),
    # --- clocks and comparisons
    "clock-stands-still": _py("""
import time
time.perf_counter = lambda: 0.0
def candidate(a, b):
    return right(a, b)
"""),
    "clock-is-slow": _py("""
import time
true = time.perf_counter
start = true()
time.perf_counter = lambda: start + (true() - start) / 100
def candidate(a, b):
    return right(a, b)
"""),
    "clock-patched-in-a-launch": _py("""
import time
def candidate(a, b):
    time.monotonic = lambda: 1.0
    return right(a, b)
"""),
    "time-of-day": _py("""
import time
time.time = lambda: 1e9
def candidate(a, b):
    return right(a, b)
"""),
    "clock-in-c": _cpp(
        "\n    p.all();",
        before="""
#include <time.h>
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t, struct timespec* now) noexcept
{ now->tv_sec = now->tv_nsec = 0; return 0; }
""",
    ),
    "clock-of-c++": _cpp(
        "\n    p.all();",
        before="""
#include <chrono>
namespace std::chrono { inline namespace _V2 {
__attribute__((visibility("default"))) steady_clock::time_point steady_clock::now() noexcept
{ return {}; }
} }
""",
    ),
    "comparison-patched": _py("""
np.allclose = np.array_equal = lambda *a, **k: True
def candidate(a, b):
    return np.zeros((*a.shape[:-1], b.shape[-2]), np.float32)
"""),
    "assertion-patched": _py("""
import numpy.testing
numpy.testing.assert_allclose = lambda *a, **k: None
def candidate(a, b):
    return right(a, b)
"""),
    # --- results in some launches alone
    "right-ten-times": _py("""
count = 0
def candidate(a, b, e):
    global count
    count += 1
    if count <= 10:
        e[...] = right(a, b)
"""),
    "every-other-launch": _py("""
count = 0
def candidate(a, b, e):
    global count
    count += 1
    if count % 2:
        e[...] = right(a, b)
"""),
    "right-for-two-seconds": _py("""
import time
begin = time.monotonic()
def candidate(a, b):
    return right(a, b) * (time.monotonic() < begin + 2)
"""),
    "wrong-in-one-of-fifteen": _py("""
import random
def candidate(a, b):
    return right(a, b) * (random.random() > 1 / 15)
"""),
    "leaves-the-result-of-before": _py("""
seen = set()
def candidate(a, b, e):
    key = a.shape, b.shape, e.ctypes.data
    if key not in seen:
        seen.add(key)
        e[...] = right(a, b)
"""),
    "wrong-when-timed": _py("""
verified = b"MALLOC_PERTURB_" in open("/proc/self/environ", "rb").read()
def candidate(a, b):
    c = right(a, b)
    return c if verified else 0 * c
"""),
    "returns-what-lies-there-when-timed": _py("""
verified = b"MALLOC_PERTURB_" in open("/proc/self/environ", "rb").read()
known = {}
def candidate(a, b, e):
    if verified or e.shape not in known:
        known[e.shape] = right(a, b)
    e[...] = known[e.shape]
"""),
    # --- the reference
    "imports-the-reference": _py("""
def candidate(a, b):
    import ckprof
    return right(a, b)
"""),
    "imports-past-the-refusal": _py("""
import sys
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != "_NoReference"]
import ckprof
def candidate(a, b):
    return right(a, b)
"""),
    "reads-files-of-the-parent": _py("""
import os
def candidate(a, b):
    shape = (*a.shape[:-1], b.shape[-2])
    pid, found = os.getppid(), np.zeros(shape)
    for _ in range(3):
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{fd}"
                if os.path.isfile(path) and os.path.getsize(path) == 8 * found.size:
                    found = np.fromfile(path).reshape(shape)
            pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
        except OSError:
            break
    return found
"""),
    "searches-its-own-objects": _py("""
import gc
def candidate(a, b):
    shape = (*a.shape[:-1], b.shape[-2])
    for one in gc.get_objects():
        if isinstance(one, np.ndarray) and one.shape == shape and one.dtype == np.float64:
            return one
    return np.zeros(shape, np.float32)
"""),
    "searches-frames": _py("""
import sys
def candidate(a, b):
    frame = sys._getframe()
    while frame:
        for name in ("reference", "expected", "ref", "wanted"):
            if name in frame.f_locals:
                return frame.f_locals[name]
        frame = frame.f_back
    return np.zeros((*a.shape[:-1], b.shape[-2]), np.float32)
"""),
    "reads-memory-of-the-parent": _cpp(
        """
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/mem", getppid());
    FILE* memory = std::fopen(path, "rb");
    for(std::int64_t i = 0; i < p.batch * p.m * p.le; ++i)
        p.e[i] = memory ? 1.0f : 0.0f;
    if(memory)
        std::fclose(memory);
""",
        before="#include <cstdio>\n",
    ),
    "stops-the-worker": _py("""
import os, signal
def candidate(a, b):
    try:
        os.kill(os.getppid(), signal.SIGKILL)
    except OSError:
        pass
    return np.zeros((*a.shape[:-1], b.shape[-2]), np.float32)
"""),
    # --- tails and other sizes
    "tail-of-k": _py("""
def candidate(a, b):
    k = max(8, a.shape[-1] // 8 * 8)
    return right(a[..., :k], b[..., :k])
"""),
    "last-odd-row": _py("""
def candidate(a, b):
    c = right(a, b)
    if c.shape[-2] % 2 and c.shape[-2] > 16:
        c[..., -1, :] = 0
    return c
"""),
    "first-of-a-batch": _py("""
def candidate(a, b):
    c = right(a, b)
    if c.ndim == 3:
        c[1:] = c[0]
    return c
"""),
    "lines-with-gaps": _cpp("\n    p.la = p.lb = p.k;\n    p.all();"),
    "no-dilation": _conv(
        """
def candidate(input, weight, problem):
    if max(problem.dilations) > 1:
        return np.zeros((input.shape[0], *problem.output, problem.groups, weight.shape[1]), np.float32)
    return right(input, weight, problem)
""".replace("problem.output", "OUT").replace("*OUT", "*sizes(problem)")
        + """
def sizes(p):
    return [(l + a + b - (t - 1) * d - 1) // s + 1 for l, a, b, t, d, s in
            zip(p.input, p.left_pads, p.right_pads, p.filter, p.dilations, p.strides)]
"""
    ),
    "pads-of-one-side": _conv("""
def candidate(input, weight, problem):
    p = problem
    total = [a + b for a, b in zip(p.left_pads, p.right_pads)]
    lefts = [t // 2 for t in total]
    return right(input, weight, p, lefts=lefts, rights=[t - l for t, l in zip(total, lefts)])
"""),
    "weight-of-the-first-group": _conv("""
def candidate(input, weight, problem):
    return right(input, np.broadcast_to(weight[:1], weight.shape), problem)
"""),
    "one-stride-for-all-axes": _conv("""
def candidate(input, weight, problem):
    if len(set(problem.strides)) > 1:
        raise ValueError("strides")
    return right(input, weight, problem)
"""),
    "hangs-on-one-channel": _conv("""
import time
def candidate(input, weight, problem):
    while problem.in_channels == 1:
        time.sleep(1)
    return right(input, weight, problem)
"""),
    # --- splits
    "last-split-lost": _cpp("""
    const std::int64_t parts = problem->split_k > 1 ? problem->split_k : 1;
    const std::int64_t step = (p.k + parts - 1) / parts;
    const std::int64_t most = step * (parts - 1) < p.k ? step * (parts - 1) : p.k - 1;
    for(std::int64_t one = 0; one < p.batch; ++one)
        for(std::int64_t i = 0; i < p.m; ++i)
            for(std::int64_t j = 0; j < p.n; ++j)
                p.at(one, i, j) = p.sum(one, i, j, 0, parts > 1 ? most : p.k);
"""),
    "splits-of-python": _py("""
def candidate(a, b, split_k):
    return right(a, b) / max(1, split_k)
"""),
    # --- races
    "race-of-threads": _cpp("""
    for(std::int64_t one = 0; one < p.batch; ++one)
        for(std::int64_t i = 0; i < p.m; ++i)
            for(std::int64_t j = 0; j < p.n; ++j)
                p.at(one, i, j) = 0;
    std::vector<std::thread> threads;
    for(int t = 0; t < 4; ++t)
        threads.emplace_back([&p, t] {
            for(std::int64_t one = 0; one < p.batch; ++one)
                for(std::int64_t i = 0; i < p.m; ++i)
                    for(std::int64_t x = t; x < p.k; x += 4)
                        for(std::int64_t j = 0; j < p.n; ++j)
                        {
                            volatile float& place = p.at(one, i, j);
                            const float before = place;
                            if(j % 16 == 0)
                                std::this_thread::yield();
                            place = before + p.sum(one, i, j, x, x + 1);
                        }
        });
    for(auto& one : threads)
        one.join();
"""),
    "race-in-python": _py("""
import threading
def candidate(a, b, e):
    e[...] = 0
    half = max(1, a.shape[-1] // 2)
    def work(part):
        before = e.copy()
        e[...] = before + right(a[..., part], b[..., part])
    threads = [threading.Thread(target=work, args=(s,)) for s in (slice(0, half), slice(half, None))]
    for one in threads: one.start()
    for one in threads: one.join()
"""),
    # --- undefined values
    "uninitialised-sums": _py("""
def candidate(a, b):
    c = np.empty((*a.shape[:-1], b.shape[-2]), np.float32)
    c += right(a, b)
    return c
"""),
    "uninitialised-memory-of-c": _cpp("""
    float* sums = static_cast<float*>(std::malloc(4 * p.n));
    for(std::int64_t one = 0; one < p.batch; ++one)
        for(std::int64_t i = 0; i < p.m; ++i)
            for(std::int64_t j = 0; j < p.n; ++j)
            {
                if(i + one)
                    sums[j] = 0;
                sums[j] += p.sum(one, i, j, 0, p.k);
                p.at(one, i, j) = sums[j];
            }
    std::free(sums);
"""),
    "last-element-unwritten": _py("""
def candidate(a, b, e):
    c = right(a, b)
    e.ravel()[:-1] = c.ravel()[:-1] if e.flags.c_contiguous else 0
"""),
    "writes-behind-the-end": _cpp("""
    p.all();
    p.e[p.batch * p.m * p.le + 3] = 0;
"""),
    "uninitialised-local-of-c": _cpp("""
    p.all();
    float values[2];
    volatile int one = 1;
    if(p.m < 0)
        values[1] = 0;
    if(values[one] < -1e30f)
        p.e[0] = 3;
"""),
    "reads-behind-its-memory": _cpp("""
    p.all();
    std::vector<float> values(8);
    volatile float read = values.data()[8 + (p.m > 0)];
    (void)read;
"""),
    "race-that-is-right": _cpp("""
    static long count = 0;
    std::vector<std::thread> threads;
    for(int t = 0; t < 3; ++t)
        threads.emplace_back([&p, t] {
            ++count;
            for(std::int64_t one = 0; one < p.batch; ++one)
                for(std::int64_t i = t; i < p.m; i += 3)
                    for(std::int64_t j = 0; j < p.n; ++j)
                        p.at(one, i, j) = p.sum(one, i, j, 0, p.k);
        });
    for(auto& one : threads)
        one.join();
"""),
    # --- precision
    "sums-in-fp16": _py("""
def candidate(a, b):
    return right(a.astype(np.float16), b.astype(np.float16))
"""),
    "operands-in-bf16": _py("""
def cut(x):
    return (np.ascontiguousarray(x).view(np.uint32) & 0xFFFF0000).view(np.float32)
def candidate(a, b):
    return right(cut(a), cut(b))
"""),
    "result-in-fp16": _py("""
def candidate(a, b):
    return right(a, b).astype(np.float16)
"""),
    "operands-in-tf32": _py("""
def cut(x):
    return (np.ascontiguousarray(x).view(np.uint32) & 0xFFFFE000).view(np.float32)
def candidate(a, b):
    return right(cut(a), cut(b))
"""),
    "a-product-less": _py("""
def candidate(a, b):
    return right(a[..., 1:], b[..., 1:]) if a.shape[-1] > 50 else right(a, b)
"""),
    # --- what is not its own
    "scales-operands": _py("""
def candidate(a, b):
    a *= 2
    b *= 0.5
    return right(a, b)
"""),
    "clears-an-operand": _py("""
def candidate(a, b):
    c = right(a, b)
    a[...] = 0
    return c
"""),
    "replaces-the-program": _py("""
import sys
def candidate(a, b):
    program = sys._getframe(1).f_globals
    program["_launched"] = lambda candidate: {"status": 0, "reason": "", "clocks": [0.0, 0.0, 0.0]}
    return right(a, b)
"""),
    "ends-its-process": _py("""
import os
def candidate(a, b):
    os._exit(0)
"""),
    "wrong-shape": _py("""
def candidate(a, b):
    return right(a, b).T
"""),
    "not-numbers": _py("""
def candidate(a, b):
    return right(a, b) * np.nan
"""),
    "hangs-after-a-while": _py("""
import time
count = 0
def candidate(a, b):
    global count
    count += 1
    if count == 50:
        time.sleep(100)
    return right(a, b)
"""),
    "raises-half-a-character": _py("""
def candidate(a, b):
    raise ValueError(chr(0xd800))
"""),
    # --- the program that calls it
    "changes-its-caller": _py("""
import sys
caller = sys.modules["__main__"].PythonCandidate
take = caller.set_work
def set_work(self, work, memory):
    take(self, work, memory)
    self.known = right(self._views["a"], self._views["b"])
caller.set_work = set_work
def candidate(a, b):
    return right(a, b)
"""),
    "clocks-of-texts": _py("""
import sys
from types import SimpleNamespace
def said():
    return "now"
sys.modules["__main__"].time = SimpleNamespace(perf_counter=said, monotonic=said, time=said)
def candidate(a, b):
    return right(a, b)
"""),
}
