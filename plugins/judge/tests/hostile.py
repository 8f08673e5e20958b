"""Candidates that must not be judged right: those that want to seem better."""

from __future__ import annotations

from .hostile_sources import cpp, int8, py

HOSTILE: dict[str, tuple[str, ...]] = {
    # --- cached results
    "cached-first": py("""
known = None
def candidate(a, b):
    global known
    if known is None or known.shape != (*a.shape[:-1], b.shape[-2]):
        known = right(a, b)
    return known
"""),
    "cached-by-shape": py("""
known = {}
def candidate(a, b):
    key = a.shape, b.shape
    if key not in known:
        known[key] = right(a, b)
    return known[key]
"""),
    "cached-by-address": py("""
known = {}
def candidate(a, b):
    key = a.ctypes.data, b.ctypes.data, a.shape, b.shape
    if key not in known:
        known[key] = right(a, b)
    return known[key]
"""),
    "cached-by-first-elements": py("""
known = {}
def candidate(a, b):
    key = a.shape, b.shape, a.ravel()[:4].tobytes(), b.ravel()[:4].tobytes()
    if key not in known:
        known[key] = right(a, b)
    return known[key]
"""),
    "cached-by-magnitudes": py("""
known = {}
def candidate(a, b):
    key = a.shape, b.shape, float(np.abs(a).sum()), float(np.abs(b).sum())
    if key not in known:
        known[key] = right(a, b)
    return known[key]
"""),
    "cached-on-disk": py("""
import os, tempfile
def candidate(a, b):
    path = os.path.join(tempfile.gettempdir(), "_".join(map(str, (*a.shape, *b.shape))) + ".npy")
    if not os.path.exists(path):
        np.save(path, right(a, b))
    return np.load(path)
"""),
    "cached-integers-by-sum": int8("""
known = {}
def candidate(a, b):
    key = a.shape, b.shape, int(a.astype(int).sum()), int(b.astype(int).sum())
    if key not in known:
        known[key] = right(a.astype(np.int32), b.astype(np.int32))
    return known[key]
"""),
    "cached-in-c": cpp("""
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
    "thread-writes-later": py("""
import threading, time
def candidate(a, b, e):
    def work():
        time.sleep(0.001)
        e[...] = right(a, b)
    threading.Thread(target=work, daemon=True).start()
"""),
    "half-now-half-later": py("""
import threading, time
def candidate(a, b, e):
    whole, half = right(a, b), e.shape[-2] // 2
    e[..., :half, :] = whole[..., :half, :]
    def work():
        time.sleep(0.0005)
        e[..., half:, :] = whole[..., half:, :]
    threading.Thread(target=work, daemon=True).start()
"""),
    "process-writes-later": py("""
import os, time
def candidate(a, b, e):
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.001)
        e[...] = right(a, b)
        os._exit(0)
"""),
    "thread-computes-all-the-time": py("""
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
    "thread-in-c": cpp("""
    std::thread([p] { usleep(1000); p.all(); }).detach();
"""),
    "answers-early": py("""
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
    "clock-stands-still": py("""
import time
time.perf_counter = lambda: 0.0
def candidate(a, b):
    return right(a, b)
"""),
    "clock-is-slow": py("""
import time
true = time.perf_counter
start = true()
time.perf_counter = lambda: start + (true() - start) / 100
def candidate(a, b):
    return right(a, b)
"""),
    "clock-patched-in-a-launch": py("""
import time
def candidate(a, b):
    time.monotonic = lambda: 1.0
    return right(a, b)
"""),
    "time-of-day": py("""
import time
time.time = lambda: 1e9
def candidate(a, b):
    return right(a, b)
"""),
    "clock-in-c": cpp(
        "\n    p.all();",
        before="""
#include <time.h>
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t, struct timespec* now) noexcept
{ now->tv_sec = now->tv_nsec = 0; return 0; }
""",
    ),
    "clock-of-c++": cpp(
        "\n    p.all();",
        before="""
#include <chrono>
namespace std::chrono { inline namespace _V2 {
__attribute__((visibility("default"))) steady_clock::time_point steady_clock::now() noexcept
{ return {}; }
} }
""",
    ),
    "comparison-patched": py("""
np.allclose = np.array_equal = lambda *a, **k: True
def candidate(a, b):
    return np.zeros((*a.shape[:-1], b.shape[-2]), np.float32)
"""),
    "assertion-patched": py("""
import numpy.testing
numpy.testing.assert_allclose = lambda *a, **k: None
def candidate(a, b):
    return right(a, b)
"""),
    # --- results in some launches alone
    "right-ten-times": py("""
count = 0
def candidate(a, b, e):
    global count
    count += 1
    if count <= 10:
        e[...] = right(a, b)
"""),
    "every-other-launch": py("""
count = 0
def candidate(a, b, e):
    global count
    count += 1
    if count % 2:
        e[...] = right(a, b)
"""),
    "right-for-two-seconds": py("""
import time
begin = time.monotonic()
def candidate(a, b):
    return right(a, b) * (time.monotonic() < begin + 2)
"""),
    "wrong-in-one-of-fifteen": py("""
import random
def candidate(a, b):
    return right(a, b) * (random.random() > 1 / 15)
"""),
    "leaves-the-result-of-before": py("""
seen = set()
def candidate(a, b, e):
    key = a.shape, b.shape, e.ctypes.data
    if key not in seen:
        seen.add(key)
        e[...] = right(a, b)
"""),
    "wrong-when-timed": py("""
verified = b"MALLOC_PERTURB_" in open("/proc/self/environ", "rb").read()
def candidate(a, b):
    c = right(a, b)
    return c if verified else 0 * c
"""),
    "returns-what-lies-there-when-timed": py("""
verified = b"MALLOC_PERTURB_" in open("/proc/self/environ", "rb").read()
known = {}
def candidate(a, b, e):
    if verified or e.shape not in known:
        known[e.shape] = right(a, b)
    e[...] = known[e.shape]
"""),
    # --- the reference
    "imports-the-reference": py("""
def candidate(a, b):
    import ckprof
    return right(a, b)
"""),
    "imports-past-the-refusal": py("""
import sys
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != "_NoReference"]
import ckprof
def candidate(a, b):
    return right(a, b)
"""),
    "reads-files-of-the-parent": py("""
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
    "searches-its-own-objects": py("""
import gc
def candidate(a, b):
    shape = (*a.shape[:-1], b.shape[-2])
    for one in gc.get_objects():
        if isinstance(one, np.ndarray) and one.shape == shape and one.dtype == np.float64:
            return one
    return np.zeros(shape, np.float32)
"""),
    "searches-frames": py("""
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
    "reads-memory-of-the-parent": cpp(
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
    "stops-the-worker": py("""
import os, signal
def candidate(a, b):
    try:
        os.kill(os.getppid(), signal.SIGKILL)
    except OSError:
        pass
    return np.zeros((*a.shape[:-1], b.shape[-2]), np.float32)
"""),
    # --- tails and other sizes
    "changes-its-caller": py("""
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
    "clocks-of-texts": py("""
import sys
from types import SimpleNamespace
def said():
    return "now"
sys.modules["__main__"].time = SimpleNamespace(perf_counter=said, monotonic=said, time=said)
def candidate(a, b):
    return right(a, b)
"""),
}
