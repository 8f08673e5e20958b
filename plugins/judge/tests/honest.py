"""Candidates that must be judged right: name -> (direction, suffix, source, type of the operands)."""

from __future__ import annotations

from .hostile_sources import _C_PRODUCT, _CONVOLUTION, _PRODUCT, END


def _py(body: str, dtype: str = "fp32", before: str = _PRODUCT) -> tuple[str, str, str, str]:
    return "gemm", ".py", before + body, dtype


def _conv(body: str, dtype: str = "fp32") -> tuple[str, str, str, str]:
    return "fwd", ".py", _CONVOLUTION + body, dtype


def _cpp(body: str, before: str = "") -> tuple[str, str, str, str]:
    head, entry, rest = _C_PRODUCT.partition('extern "C"')
    return "gemm", ".cpp", head + before + entry + rest + body + END, "fp32"


_RETURNS = "\ndef candidate(a, b):\n    return right(a, b)\n"

HONEST: dict[str, tuple[str, str, str, str]] = {
    "einsum": _py(_RETURNS),
    "matmul": _py("\ndef candidate(a, b):\n    return a @ b.swapaxes(-1, -2)\n"),
    "into-its-place": _py("\ndef candidate(a, b, e):\n    e[...] = right(a, b)\n"),
    "with-out": _py("\ndef candidate(a, b, e):\n    np.matmul(a, b.swapaxes(-1, -2), out=e)\n"),
    "double-precision": _py("\ndef candidate(a, b):\n    return right(a.astype(float), b.astype(float))\n"),
    "fp16": _py(
        "\ndef candidate(a, b):\n    return right(a.astype(np.float32), b.astype(np.float32))\n", "fp16"
    ),
    "bf16": _py(_RETURNS, "bf16"),
    "bf16-into-its-place": _py("\ndef candidate(a, b, e):\n    e[...] = right(a, b)\n", "bf16"),
    "fp8": _py(_RETURNS, "fp8"),
    "int8": _py("\ndef candidate(a, b):\n    return right(a.astype(np.int32), b.astype(np.int32))\n", "int8"),
    "keywords": _py("\ndef candidate(**given):\n    return right(given['a'], given['b'])\n"),
    "reads-sizes": _py("""
def candidate(a, b, problem):
    e = np.zeros((*a.shape[:-1], problem.n), np.float32)
    for k in range(problem.k):
        e += a[..., :, k, None] * b[..., None, :, k]
    return e
"""),
    "blocks-of-k": _py("""
def candidate(a, b):
    return sum(right(a[..., k:k + 16], b[..., k:k + 16]) for k in range(0, a.shape[-1], 16))
"""),
    "splits": _py("""
def candidate(a, b, split_k):
    parts = np.array_split(np.arange(a.shape[-1]), max(1, split_k))
    return sum(right(a[..., part], b[..., part]) for part in parts)
"""),
    "pairwise-sums": _py("""
def candidate(a, b):
    if a.shape[-1] == 1:
        return right(a, b)
    half = a.shape[-1] // 2
    return candidate(a[..., :half], b[..., :half]) + candidate(a[..., half:], b[..., half:])
"""),
    "other-orders": _py("""
def candidate(a, b):
    return np.asfortranarray(right(np.asfortranarray(a), b[..., ::-1, :])[..., ::-1])
"""),
    "plans-by-shape": _py("""
plans = {}
def candidate(a, b):
    key = a.shape, b.shape, a.strides, b.strides
    if key not in plans:
        plans[key] = np.einsum_path("...mk,...nk->...mn", a, b)[0]
    return np.einsum("...mk,...nk->...mn", a, b, optimize=plans[key])
"""),
    "workspace-is-kept": _py("""
import functools
@functools.lru_cache(None)
def workspace(shape):
    return np.empty(shape, np.float32)
def candidate(a, b):
    kept = workspace((*a.shape[:-1], b.shape[-2]))
    kept[...] = right(a, b)
    return kept
"""),
    "tunes-itself": _py("""
import time
best = {}
def by_matmul(a, b):
    return a @ b.swapaxes(-1, -2)
def candidate(a, b):
    key = a.shape, b.shape
    if key not in best:
        times = {}
        for way in (right, by_matmul):
            start = time.perf_counter()
            way(a, b)
            times[way] = time.perf_counter() - start
        best[key] = min(times, key=times.get)
    return best[key](a, b)
"""),
    "compiles-itself": _py("""
kernels = {}
def candidate(a, b):
    name = f"product_{a.shape[-1]}"
    if name not in kernels:
        space = {"right": right}
        exec(f"def {name}(a, b):\\n    return right(a, b)", space)
        kernels[name] = space[name]
    return kernels[name](a, b)
"""),
    "knows-what-it-computed": _py("""
known = {}
def candidate(a, b):
    key = a.tobytes(), b.tobytes(), a.shape, b.shape
    if key not in known:
        known.clear()
        known[key] = right(a, b)
    return known[key]
"""),
    "counts-its-launches": _py("""
launches = 0
def candidate(a, b):
    global launches
    launches += 1
    return right(a, b)
"""),
    "pool-of-threads": _py("""
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(4)
def candidate(a, b):
    parts = np.array_split(np.arange(b.shape[-2]), 4)
    return np.concatenate([*pool.map(lambda part: right(a, b[..., part, :]), parts)], axis=-1)
"""),
    "pool-of-processes": _py("""
import multiprocessing
pool = None
def work(given):
    return right(*given)
def candidate(a, b):
    global pool
    if pool is None:
        pool = multiprocessing.get_context("fork").Pool(2)
    half = b.shape[-2] // 2
    return np.concatenate(pool.map(work, [(a, b[..., :half, :]), (a, b[..., half:, :])]), axis=-1)
"""),
    "spins-for-a-while": _py("""
import threading, time
def spin():
    until = time.perf_counter() + 0.002
    while time.perf_counter() < until:
        pass
def candidate(a, b):
    threading.Thread(target=spin).start()
    return right(a, b)
"""),
    "watches-itself": _py("""
import threading, time
beats = 0
def beat():
    global beats
    while True:
        time.sleep(0.01)
        beats += 1
threading.Thread(target=beat, daemon=True).start()
def candidate(a, b):
    return right(a, b)
"""),
    "slow": _py("""
import time
def candidate(a, b):
    time.sleep(0.05)
    return right(a, b)
"""),
    "noisy": _py("""
import random, time
def candidate(a, b):
    time.sleep(random.expovariate(1000))
    return right(a, b)
"""),
    "first-launch-is-slow": _py("""
import time
warm = []
def candidate(a, b):
    if not warm:
        time.sleep(1)
        warm.append(1)
    return right(a, b)
"""),
    "loops-of-python": _py("""
def candidate(a, b, e):
    for at in np.ndindex(e.shape):
        e[at] = np.dot(a[at[:-1]], b[(*at[:-2], at[-1])])
"""),
    "large": _py("""
pages = np.zeros(2**27, np.uint8)
def candidate(a, b):
    pages[::4096] += 1
    return right(a, b)
"""),
    "talks": _py("""
import logging, sys, warnings
def candidate(a, b):
    print("computing", a.shape)
    print("computing", file=sys.stderr)
    warnings.warn("slow")
    return right(a, b)
"""),
    "writes-files": _py("""
import tempfile
def candidate(a, b):
    with tempfile.NamedTemporaryFile() as file:
        np.save(file, right(a, b))
        file.seek(0)
        return np.load(file)
"""),
    "computes-in-place": _py("""
def candidate(a, b):
    a = a.copy()
    a *= 2
    c = right(a, b)
    c *= 0.5
    return c
"""),
    "an-object": _py("""
class Product:
    def __call__(self, a, b):
        return right(a, b)
candidate = Product()
"""),
    "refuses-batches": _py("""
def candidate(a, b, problem):
    if problem.batch > 1 or problem.stride_e:
        raise NotImplementedError("one product alone")
    return right(a, b)
"""),
    "numbers-at-random": _py("""
import random
def candidate(a, b):
    order = np.array(random.sample(range(a.shape[-1]), a.shape[-1]))
    return right(a[..., order], b[..., order])
"""),
    "reads-errors": _py("""
def candidate(a, b):
    with np.errstate(all="raise"):
        return right(a, b)
"""),
    "convolution": _conv("""
def candidate(input, weight, problem):
    return right(input, weight, problem)
"""),
    "convolution-by-groups": _conv("""
def candidate(input, weight, problem):
    parts = [right(input[..., g:g + 1, :], weight[g:g + 1], problem) for g in range(problem.groups)]
    return np.concatenate(parts, axis=3)
"""),
    "loops-in-c": _cpp("\n    p.all();"),
    "threads-in-c": _cpp("""
    std::vector<std::thread> threads;
    for(int t = 0; t < 3; ++t)
        threads.emplace_back([&p, t] {
            for(std::int64_t one = 0; one < p.batch; ++one)
                for(std::int64_t i = t; i < p.m; i += 3)
                    for(std::int64_t j = 0; j < p.n; ++j)
                        p.at(one, i, j) = p.sum(one, i, j, 0, p.k);
        });
    for(auto& one : threads)
        one.join();
"""),
    "workspace-of-c": _cpp("""
    static std::vector<float> sums;
    sums.assign(p.n, 0.0f);
    for(std::int64_t one = 0; one < p.batch; ++one)
        for(std::int64_t i = 0; i < p.m; ++i)
        {
            for(std::int64_t j = 0; j < p.n; ++j)
                sums[j] = p.sum(one, i, j, 0, p.k);
            for(std::int64_t j = 0; j < p.n; ++j)
                p.at(one, i, j) = sums[j];
        }
"""),
    "splits-in-c": _cpp("""
    const std::int64_t parts = problem->split_k > 1 ? problem->split_k : 1;
    const std::int64_t step = (p.k + parts - 1) / parts;
    for(std::int64_t one = 0; one < p.batch; ++one)
        for(std::int64_t i = 0; i < p.m; ++i)
            for(std::int64_t j = 0; j < p.n; ++j)
            {
                p.at(one, i, j) = 0;
                for(std::int64_t from = 0; from < p.k; from += step)
                    p.at(one, i, j) += p.sum(one, i, j, from, from + step < p.k ? from + step : p.k);
            }
"""),
    "rejects-in-c": _cpp("""
    if(p.batch > 1)
    {
        std::strncpy(reason, "one product alone", size - 1);
        return CKPROF_REJECTED;
    }
    p.all();
"""),
}
