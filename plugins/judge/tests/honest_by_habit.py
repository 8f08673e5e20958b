"""Honest candidates by what people are used to do: caches, pools, scratch, plans, slow and noisy ones.

Products are in the layout rcr: ``a`` is MK, ``b`` is NK, with another axis before where there are several.
"""

from __future__ import annotations

_PYTHON = {
    "einsum-alone": """
import numpy as np
def candidate(a, b):
    return np.einsum("...mk,...nk->...mn", a, b)
""",
    "einsum-with-a-path-kept": """
import numpy as np
paths = {}
def candidate(a, b):
    key = a.shape, b.shape
    if key not in paths:
        paths[key] = np.einsum_path("...mk,...nk->...mn", a, b, optimize="optimal")[0]
    return np.einsum("...mk,...nk->...mn", a, b, optimize=paths[key])
""",
    "source-compiled-by-shape": """
import numpy as np
made = {}
def candidate(a, b):
    key = a.shape, b.shape
    if key not in made:
        text = f"def f(a, b):\\n    assert a.shape == {a.shape}\\n    return np.matmul(a, b.swapaxes(-1, -2))"
        space = {"np": np}
        exec(compile(text, "made", "exec"), space)
        made[key] = space["f"]
    return made[key](a, b)
""",
    "c-compiled-lazily": """
import ctypes, os, subprocess, tempfile
import numpy as np
TEXT = '''
void f(const float* a, const float* b, float* e, long M, long N, long K) {
    for(long m = 0; m < M; ++m) for(long n = 0; n < N; ++n) {
        float s = 0; for(long k = 0; k < K; ++k) s += a[m * K + k] * b[n * K + k]; e[m * N + n] = s; } }
'''
made = []
def candidate(a, b):
    if not made:
        folder = tempfile.mkdtemp()
        with open(f"{folder}/f.c", "w") as file:
            file.write(TEXT)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"{folder}/f.c", "-o", f"{folder}/f.so"], check=True)
        made.append(ctypes.CDLL(f"{folder}/f.so").f)
    *_, m, k = a.shape
    n = b.shape[-2]
    batch = int(np.prod(a.shape[:-2]))
    e = np.empty((batch, m, n), np.float32)
    p = ctypes.c_void_p
    a2, b2 = (np.ascontiguousarray(x).reshape(batch, *x.shape[-2:]) for x in (a, b))
    for i in range(batch):
        where = (p(x[i].ctypes.data) for x in (a2, b2, e))
        made[0](*where, *map(ctypes.c_long, (m, n, k)))
    return e.reshape(*a.shape[:-1], n)
""",
    "workspace-kept-by-size": """
import numpy as np
spaces = {}
def candidate(a, b, e):
    space = spaces.setdefault(e.shape, np.empty(e.shape, e.dtype))
    np.matmul(a, b.swapaxes(-1, -2), out=space)
    e[...] = space
""",
    "one-workspace-that-grows": """
import numpy as np
space = np.empty(0, np.float32)
def candidate(a, b):
    global space
    size = int(np.prod(a.shape[:-1])) * b.shape[-2]
    if space.size < size:
        space = np.empty(2 * size, np.float32)
    out = space[:size].reshape(*a.shape[:-1], b.shape[-2])
    return np.matmul(a, b.swapaxes(-1, -2), out=out)
""",
    "result-is-scratch": """
import numpy as np
def candidate(a, b, e):
    e[...] = 0
    for k in range(0, a.shape[-1], 7):
        e += np.matmul(a[..., k : k + 7], b[..., k : k + 7].swapaxes(-1, -2))
""",
    "packs-weights-and-compares-them": """
import numpy as np
packed = {}
def candidate(a, b):
    known = packed.get(b.shape)
    if known is None or not np.array_equal(known[0], b):
        known = packed[b.shape] = b.copy(), np.ascontiguousarray(b.swapaxes(-1, -2))
    return np.matmul(a, known[1])
""",
    "keeps-what-it-was-given": """
import numpy as np
before = []
def candidate(a, b):
    before.append((a, b))
    del before[:-3]
    return np.matmul(*(x if i == 0 else x.swapaxes(-1, -2) for i, x in enumerate(before[-1])))
""",
    "in-doubles": """
import numpy as np
def candidate(a, b):
    return np.matmul(a.astype(float), b.astype(float).swapaxes(-1, -2)).astype(a.dtype)
""",
    "executor-of-three": """
from concurrent.futures import ThreadPoolExecutor
import numpy as np
pool = ThreadPoolExecutor(3)
def candidate(a, b, e):
    def part(rows):
        e[..., rows, :] = np.matmul(a[..., rows, :], b.swapaxes(-1, -2))
    rows = np.array_split(np.arange(a.shape[-2]), 3)
    list(pool.map(lambda some: part(slice(some[0], some[-1] + 1)) if some.size else None, rows))
""",
    "new-threads-each-time": """
import threading
import numpy as np
def candidate(a, b, e):
    halves = np.array_split(np.arange(b.shape[-2]), 2)
    def part(some):
        for n in some:
            e[..., n] = np.matmul(a, b[..., n, :, None])[..., 0]
    threads = [threading.Thread(target=part, args=(some,)) for some in halves]
    [one.start() for one in threads]
    [one.join() for one in threads]
""",
    "thread-that-waits-for-work": """
import queue, threading
import numpy as np
work, done = queue.Queue(), queue.Queue()
def serve():
    while True:
        a, b = work.get()
        done.put(np.matmul(a, b.swapaxes(-1, -2)))
threading.Thread(target=serve, daemon=True).start()
def candidate(a, b):
    work.put((a, b))
    return done.get()
""",
    "forks-and-shares": """
import mmap, os
import numpy as np
def candidate(a, b):
    shape = *a.shape[:-1], b.shape[-2]
    memory = mmap.mmap(-1, 4 * int(np.prod(shape)))
    out = np.frombuffer(memory, np.float32).reshape(shape)
    child = os.fork()
    if not child:
        out[..., ::2, :] = np.einsum("...mk,...nk->...mn", a[..., ::2, :], b)
        os._exit(0)
    out[..., 1::2, :] = np.einsum("...mk,...nk->...mn", a[..., 1::2, :], b)
    os.waitpid(child, 0)
    return out
""",
    "sleeps-at-times": """
import random, time
import numpy as np
def candidate(a, b):
    if random.random() < 0.1:
        time.sleep(0.05)
    return np.matmul(a, b.swapaxes(-1, -2))
""",
    "loops-in-python": """
def candidate(a, b, e):
    if a.ndim > 2 or a.shape[0] * b.shape[0] > 4000:
        raise NotImplementedError("slow")
    for m, row in enumerate(a):
        for n, column in enumerate(b):
            e[m, n] = (row * column).sum()
""",
    "measures-itself-and-chooses": """
import time
import numpy as np
best = {}
def first(a, b):
    return np.matmul(a, b.swapaxes(-1, -2))
def second(a, b):
    return np.swapaxes(np.matmul(b, a.swapaxes(-1, -2)), -1, -2)
def candidate(a, b):
    key = a.shape, b.shape
    if key not in best:
        taken = []
        for f in (first, second):
            start = time.perf_counter()
            f(a, b)
            taken.append((time.perf_counter() - start, f))
        best[key] = min(taken, key=lambda one: one[0])[1]
    return best[key](a, b)
""",
    "plans-in-a-file": """
import json, pathlib
import numpy as np
path = pathlib.Path("plans.json")
def candidate(a, b):
    plans = json.loads(path.read_text()) if path.exists() else {}
    block = plans.setdefault(str(a.shape), 16)
    path.write_text(json.dumps(plans))
    e = np.empty((*a.shape[:-1], b.shape[-2]), a.dtype)
    for m in range(0, a.shape[-2], block):
        e[..., m : m + block, :] = np.matmul(a[..., m : m + block, :], b.swapaxes(-1, -2))
    return e
""",
    "views-of-memory": """
import ctypes
import numpy as np
def candidate(a, b):
    view = memoryview(np.ascontiguousarray(a)).cast("B")
    again = np.frombuffer(view, a.dtype).reshape(a.shape)
    return np.matmul(again, np.require(b, requirements=["W", "A", "C"]).swapaxes(-1, -2))
""",
    "prints-and-warns": """
import sys, warnings
import numpy as np
def candidate(a, b):
    print("launch", a.shape)
    sys.stderr.write("launch\\n")
    warnings.warn("experimental")
    return np.matmul(a, b.swapaxes(-1, -2))
""",
    "multiprocessing-pool": """
import multiprocessing
import numpy as np
def part(given):
    a, b = given
    return np.matmul(a, b.swapaxes(-1, -2))
pool = multiprocessing.get_context("fork").Pool(2)
def candidate(a, b):
    if a.shape[-2] < 2:
        return part((a, b))
    halves = np.array_split(a, 2, axis=-2)
    return np.concatenate(pool.map(part, [(half, b) for half in halves]), axis=-2)
""",
    "collects-garbage": """
import gc
import numpy as np
def candidate(a, b):
    loops = [[] for _ in range(1000)]
    for one in loops:
        one.append(one)
    gc.collect()
    return np.matmul(a, b.swapaxes(-1, -2))
""",
}

_CPP = """
#include "ckprof_candidate.h"
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>
#include <immintrin.h>

static float dot(const float* a, const float* b, long K)
{
    float sum = 0;
    for(long k = 0; k < K; ++k) sum += a[k] * b[k];
    return sum;
}
SPACE
extern "C" ckprof_status ckprof_candidate(const ckprof_problem* problem, const ckprof_buffers* buffers,
                                          char*, size_t)
{
    const long* v = (const long*)problem->values;
    const long M = v[0], N = v[1], K = v[2], A = v[3] ? v[3] : K, B = v[4] ? v[4] : K, E = v[5] ? v[5] : N;
    if(v[6] > 1) return CKPROF_REJECTED;
    const float* a = (const float*)ckprof_tensor(buffers, 0);
    const float* b = (const float*)ckprof_tensor(buffers, 1);
    float* e = (float*)ckprof_tensor(buffers, 2);
    BODY
    return CKPROF_OK;
}
"""

_BODIES = {
    "workspace-that-stays": (
        "static std::vector<float> space;",
        "space.assign(M * N, 0);\nfor(long k = 0; k < K; ++k) for(long m = 0; m < M; ++m)"
        " for(long n = 0; n < N; ++n) space[m * N + n] += a[m * A + k] * b[n * B + k];\n"
        "for(long m = 0; m < M; ++m) std::copy_n(&space[m * N], N, e + m * E);",
    ),
    "vectors-and-a-tail": (
        "",
        "for(long m = 0; m < M; ++m) for(long n = 0; n < N; ++n) {\n"
        " __m128 sum = _mm_setzero_ps(); long k = 0;\n"
        " for(; k + 4 <= K; k += 4) sum = _mm_add_ps(sum, _mm_mul_ps(_mm_loadu_ps(a + m * A + k),"
        " _mm_loadu_ps(b + n * B + k)));\n"
        " float s[4]; _mm_storeu_ps(s, sum); float rest = s[0] + s[1] + s[2] + s[3];\n"
        " e[m * E + n] = rest + dot(a + m * A + k, b + n * B + k, K - k); }",
    ),
    "threads-per-rows": (
        "",
        "auto rows = [&](long from, long to) { for(long m = from; m < to; ++m) for(long n = 0; n < N; ++n)"
        " e[m * E + n] = dot(a + m * A, b + n * B, K); };\n"
        "std::thread other(rows, 0, M / 2);\nrows(M / 2, M);\nother.join();",
    ),
    "splits-in-partial-sums": (
        "",
        "const long parts = problem->split_k < 1 ? 1 : problem->split_k;\n"
        "std::vector<float> sums(parts);\nfor(long m = 0; m < M; ++m) for(long n = 0; n < N; ++n) {\n"
        " for(long p = 0; p < parts; ++p) { long from = K * p / parts, to = K * (p + 1) / parts;\n"
        "  sums[p] = dot(a + m * A + from, b + n * B + from, to - from); }\n"
        " float sum = 0; for(float one : sums) sum += one;\n e[m * E + n] = sum; }",
    ),
    "plans-by-size": (
        "static std::map<std::tuple<long, long, long>, std::unique_ptr<long>> plans;",
        "auto& plan = plans[{M, N, K}];\nif(!plan) plan = std::make_unique<long>(std::max(1l, M / 3));\n"
        "for(long from = 0; from < M; from += *plan) for(long n = 0; n < N; ++n)"
        " for(long m = from; m < std::min(M, from + *plan); ++m)"
        "  e[m * E + n] = dot(a + m * A, b + n * B, K);",
    ),
    "atomic-counter-of-rows": (
        "",
        "std::atomic<long> next{0};\n"
        "auto work = [&] { for(long m; (m = next++) < M;) for(long n = 0; n < N; ++n)"
        " e[m * E + n] = dot(a + m * A, b + n * B, K); };\n"
        "std::thread one(work), two(work);\nwork();\none.join();\ntwo.join();",
    ),
    "packs-into-aligned-memory": (
        "",
        "float* packed = (float*)std::aligned_alloc(64, (K * N * 4 + 63) / 64 * 64);\n"
        "for(long n = 0; n < N; ++n) for(long k = 0; k < K; ++k) packed[k * N + n] = b[n * B + k];\n"
        "for(long m = 0; m < M; ++m) { for(long n = 0; n < N; ++n) e[m * E + n] = 0;\n"
        " for(long k = 0; k < K; ++k) for(long n = 0; n < N; ++n)"
        "  e[m * E + n] += a[m * A + k] * packed[k * N + n]; }\n"
        "std::free(packed);",
    ),
    "openmp-for": (
        "",
        "#pragma omp parallel for\nfor(long m = 0; m < M; ++m) for(long n = 0; n < N; ++n)"
        " e[m * E + n] = dot(a + m * A, b + n * B, K);",
    ),
    "aligned-loads-where-they-are": (
        "",
        "const bool aligned = (size_t)a % 16 == 0 && (size_t)b % 16 == 0"
        " && A % 4 == 0 && B % 4 == 0 && K % 4 == 0;\n"
        "for(long m = 0; m < M; ++m) for(long n = 0; n < N; ++n) {\n"
        " if(!aligned) { e[m * E + n] = dot(a + m * A, b + n * B, K); continue; }\n"
        " __m128 sum = _mm_setzero_ps();\n"
        " for(long k = 0; k < K; k += 4) sum = _mm_add_ps(sum, _mm_mul_ps(_mm_load_ps(a + m * A + k),"
        " _mm_load_ps(b + n * B + k)));\n"
        " float s[4]; _mm_storeu_ps(s, sum); e[m * E + n] = s[0] + s[1] + s[2] + s[3]; }",
    ),
}

HONEST = {
    **{name: ("gemm", ".py", text) for name, text in _PYTHON.items()},
    **{
        name: ("gemm", ".cpp", _CPP.replace("SPACE", space).replace("BODY", body))
        for name, (space, body) in _BODIES.items()
    },
}
