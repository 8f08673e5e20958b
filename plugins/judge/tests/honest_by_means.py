"""Honest candidates by their means: threads, processes, signals, large memory, other algorithms."""

from __future__ import annotations

_RIGHT = """
import numpy as np
def right(a, b):
    return np.matmul(a, b.swapaxes(-1, -2))
"""

_SOURCES = {
    "rows-in-a-pool-of-threads": """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(4)
def candidate(a, b, e):
    m = a.shape[-2]
    cuts = [m * i // 4 for i in range(5)]
    def part(i):
        e[..., cuts[i]:cuts[i + 1], :] = right(a[..., cuts[i]:cuts[i + 1], :], b)
    list(pool.map(part, range(4)))
""",
    "spinning-threads": """
import threading
jobs, done = [], []
def spin():
    while True:
        try:
            job = jobs.pop()
        except IndexError:
            continue
        done.append(job())
threading.Thread(target=spin, daemon=True).start()
def candidate(a, b):
    done.clear()
    jobs.append(lambda: right(a, b))
    while not done:
        pass
    return done[0]
""",
    "processes-compute-rows": """
import os, mmap, struct
def candidate(a, b):
    shape = (*a.shape[:-1], b.shape[-2])
    n = int(np.prod(shape))
    shared = mmap.mmap(-1, max(1, 4 * n))
    out = np.frombuffer(shared, 'f4', n).reshape(shape)
    pid = os.fork()
    if pid == 0:
        try:
            out[..., : shape[-2] // 2, :] = right(a[..., : shape[-2] // 2, :], b)
        finally:
            os._exit(0)
    out[..., shape[-2] // 2 :, :] = right(a[..., shape[-2] // 2 :, :], b)
    os.waitpid(pid, 0)
    return out
""",
    "large-workspace": """
work = None
def candidate(a, b):
    global work
    if work is None:
        work = np.ones(1 << 27, 'f4')
    out = right(a, b)
    part = work[: out.size].reshape(out.shape)
    part[...] = out
    return part.copy()
""",
    "results-by-whole-content": """
import hashlib
kept = {}
def candidate(a, b):
    key = (a.shape, b.shape, hashlib.sha256(a.tobytes()).digest(), hashlib.sha256(b.tobytes()).digest())
    if key not in kept:
        if len(kept) > 64:
            kept.clear()
        kept[key] = right(a, b)
    return kept[key]
""",
    "watchdog-by-alarm": """
import signal
def over(*_):
    raise TimeoutError('too slow')
signal.signal(signal.SIGALRM, over)
def candidate(a, b):
    signal.alarm(20)
    try:
        return right(a, b)
    finally:
        signal.alarm(0)
""",
    "strassen": """
def one(a, b):
    m, k = a.shape[-2:]
    n = b.shape[-1]
    if m % 2 or k % 2 or n % 2:
        return a @ b
    a11, a12 = a[..., :m//2, :k//2], a[..., :m//2, k//2:]
    a21, a22 = a[..., m//2:, :k//2], a[..., m//2:, k//2:]
    b11, b12 = b[..., :k//2, :n//2], b[..., :k//2, n//2:]
    b21, b22 = b[..., k//2:, :n//2], b[..., k//2:, n//2:]
    m1 = (a11 + a22) @ (b11 + b22); m2 = (a21 + a22) @ b11; m3 = a11 @ (b12 - b22); m4 = a22 @ (b21 - b11)
    m5 = (a11 + a12) @ b22; m6 = (a21 - a11) @ (b11 + b12); m7 = (a12 - a22) @ (b21 + b22)
    out = np.empty((*a.shape[:-1], n), 'f8')
    out[..., :m//2, :n//2] = m1 + m4 - m5 + m7
    out[..., :m//2, n//2:] = m3 + m5
    out[..., m//2:, :n//2] = m2 + m4
    out[..., m//2:, n//2:] = m1 - m2 + m3 + m6
    return out
def candidate(a, b):
    return one(a.astype('f8'), b.swapaxes(-1, -2).astype('f8')).astype('f4')
""",
    "pins-itself": """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.nice(1)
def candidate(a, b):
    return right(a, b)
""",
    "profiles-itself": """
import cProfile, tracemalloc, time
tracemalloc.start()
def candidate(a, b):
    p = cProfile.Profile(); p.enable()
    try:
        return right(a, b)
    finally:
        p.disable()
""",
    "random-order-of-blocks": """
import random
def candidate(a, b, e):
    blocks = [(m, n) for m in range(0, a.shape[-2], 16) for n in range(0, b.shape[-2], 16)]
    random.shuffle(blocks)
    for m, n in blocks:
        e[..., m:m + 16, n:n + 16] = right(a[..., m:m + 16, :], b[..., n:n + 16, :])
""",
}

#: name -> direction, suffix, source
HONEST = {name: ("gemm", ".py", _RIGHT + source) for name, source in _SOURCES.items()}
