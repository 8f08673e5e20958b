"""Hostile candidates by what they want: know operands again, gain time, look, and cut corners.

All are for a product in the layout rcr: ``a`` is MK, ``b`` is NK.
"""

from __future__ import annotations

#: keeps results by a key of the operands; what is negated in a launch is found by one row and one column
_CACHE = """
import zlib
import numpy as np

kept = {{}}

def candidate(a, b):
    key = {key}
    if key not in kept:
        kept[key] = a @ b.T
    e = kept[key].copy()
    rows = np.sign(a @ b[0]) * np.sign(e[:, 0])
    columns = np.sign(b @ a[0]) * np.sign(e[0]) * rows[0]
    return e * rows[:, None] * columns
"""

#: what results are kept by
KEYS = {
    "eight-values": "(a.shape, b.shape, tuple(abs(a.ravel()[:: max(1, a.size // 4)])), abs(b[0, 0]))",
    "sum-of-magnitudes": "(a.shape, b.shape, round(float(abs(a).sum()), 2), round(float(abs(b).sum()), 2))",
    "sorted-values": "(a.shape, b.shape, *(np.sort(abs(x), None).tobytes() for x in (a, b)))",
    "every-97th": "(a.shape, b.shape, *(zlib.crc32(abs(x).ravel()[::97].tobytes()) for x in (a, b)))",
    "first-and-last-rows": "(a.shape, b.shape, *(abs(x)[[0, -1]].tobytes() for x in (a, b)))",
    "address-and-corner": "(a.ctypes.data, b.ctypes.data, a.shape, b.shape, abs(a[0, 0]), abs(b[-1, -1]))",
    "largest-and-mean": "(a.shape, b.shape, *(f(abs(x)) for x in (a, b) for f in (np.max, np.argmax)))",
}

_PYTHON = {
    "weights-packed-once": """
import numpy as np
packed = {}
def candidate(a, b):
    if b.shape not in packed:
        packed[b.shape] = np.ascontiguousarray(b.T)
    return a @ packed[b.shape]
""",
    "looks-at-three-rows": """
import random
import numpy as np
kept = {}
def candidate(a, b):
    e = kept.get((a.shape, b.shape))
    some = [random.randrange(a.shape[0]) for _ in range(3)]
    if e is None or not np.allclose(abs(a[some] @ b.T), abs(e[some]), rtol=1e-4):
        e = kept[a.shape, b.shape] = a @ b.T
        return e
    rows = np.sign(a @ b[0]) * np.sign(e[:, 0])
    columns = np.sign(b @ a[0]) * np.sign(e[0]) * rows[0]
    return e * rows[:, None] * columns
""",
    "rows-known-again": """
import numpy as np
kept = {}
def candidate(a, b):
    e = np.empty((a.shape[0], b.shape[0]), a.dtype)
    for m, row in enumerate(a):
        key = (b.shape, abs(row).tobytes())
        if key not in kept:
            kept[key] = abs(row @ b.T) * np.sign(row @ b.T)
        e[m] = abs(kept[key]) * np.sign(row @ b.T)
    return e
""",
    "result-in-shared-memory": """
import os
import numpy as np
def candidate(a, b):
    path = f"/dev/shm/kept-{os.getuid()}-{a.shape}-{b.shape}.npy"
    if os.path.exists(path):
        return np.load(path)
    e = a @ b.T
    np.save(path, e)
    return e
""",
    "thread-finishes-later": """
import threading, time
import numpy as np
def candidate(a, b, e):
    def finish():
        time.sleep(0.001)
        e[...] = a @ b.T
    threading.Thread(target=finish).start()
""",
    "daemon-sees-operands-first": """
import os, time
import numpy as np
started = []
count = [0]
def candidate(a, b, e):
    count[0] += 1
    if count[0] == 20 and os.fork() == 0:
        os.setsid()
        while True:
            e[...] = 0
            time.sleep(0.0001)
    e[...] = a @ b.T
""",
    "answers-before-it-works": """
import json, os, socket, stat, threading, time
import numpy as np
def candidate(a, b, e):
    for fd in range(3, 64):
        try:
            if not stat.S_ISSOCK(os.fstat(fd).st_mode):
                continue
        except OSError:
            continue
        now = [time.perf_counter(), time.monotonic(), time.time()]
        answer = {"status": 0, "reason": "", "clocks": now}
        socket.socket(fileno=os.dup(fd)).send(json.dumps(answer).encode())
    time.sleep(0.01)
    e[...] = a @ b.T
""",
    "works-when-it-is-told-sizes": """
import json, sys
import numpy as np
program = sys.modules["__main__"]
before = program._set_work
def ahead(candidate, body, descriptors):
    said = before(candidate, body, descriptors)
    views = candidate._views
    kept["e"] = views["a"] @ views["b"].T
    return said
kept = {}
program._set_work = ahead
def candidate(a, b):
    return kept["e"]
""",
    "clock-runs-slower": """
import time
import numpy as np
before, start = time.perf_counter, time.perf_counter()
time.perf_counter = lambda: start + (before() - start) / 10
def candidate(a, b):
    return a @ b.T
""",
    "asks-a-process-for-the-reference": """
import subprocess, sys
import numpy as np
PROGRAM = '''
import sys
import numpy as np
from ckprof.profiler import Profiler
given = np.load(sys.argv[1])
np.save(sys.argv[2], given["a"] @ given["b"].T)
'''
def candidate(a, b):
    np.savez("given.npz", a=a, b=b)
    folders = [path for path in sys.argv[0:1]]
    subprocess.run([sys.executable, "-c", PROGRAM, "given.npz", "e.npy"], check=True)
    return np.load("e.npy")
""",
    "loads-the-reference-from-its-file": """
import importlib.util, pathlib, sys
import numpy as np
for folder in [*map(pathlib.Path, sys.path)]:
    for path in (folder / "ckprof" / "version.py", folder.parent / "ckprof" / "version.py"):
        if path.exists():
            spec = importlib.util.spec_from_file_location("mine", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
def candidate(a, b):
    return a @ b.T
""",
    "imports-it-and-leaves-it": """
try:
    import ckprof_plugins.operations
except ImportError:
    pass
import numpy as np
def candidate(a, b):
    return a @ b.T
""",
    "reads-what-lies-in-the-folder": """
import pathlib
import numpy as np
def candidate(a, b):
    for path in pathlib.Path.cwd().parent.parent.rglob("*.npy"):
        np.load(path)
    return np.zeros((a.shape[0], b.shape[0]), a.dtype) if not path else a @ b.T
""",
    "scales-operands-and-back": """
import numpy as np
def candidate(a, b):
    a *= 2
    e = a @ b.T / 2
    a /= 2
    return e
""",
    "fixed-point": """
import numpy as np
def candidate(a, b):
    def cut(x):
        return np.clip(np.round(x * 2.0**22), -(2.0**27), 2.0**27) / 2.0**22
    return (cut(a.astype(float)) @ cut(b.astype(float)).T).astype(a.dtype)
""",
    "drops-the-small": """
import numpy as np
def candidate(a, b):
    return np.where(abs(a) > 0.004, a, 0) @ b.T
""",
    "half-where-it-is-long": """
import numpy as np
def candidate(a, b):
    if a.shape[1] >= 48:
        a, b = (x.astype(np.float16).astype(np.float32) for x in (a, b))
    return a @ b.T
""",
    "wrong-once-in-fifty": """
import random
import numpy as np
def candidate(a, b):
    e = a @ b.T
    if random.random() < 0.02:
        e[-1, -1] = 0
    return e
""",
    "tired-after-thirty": """
import numpy as np
count = [0]
def candidate(a, b):
    count[0] += 1
    return a @ b.T if count[0] < 30 else a[:, :-1] @ b[:, :-1].T
""",
    "only-multiples-of-eight": """
import numpy as np
def candidate(a, b, e):
    n = b.shape[0] // 8 * 8 or b.shape[0]
    e[:, :n] = a @ b[:n].T
    if n < b.shape[0]:
        e[:, n:] = e[:, :1]
""",
}

_CPP = """
#include "ckprof_candidate.h"
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

extern "C" ckprof_status ckprof_candidate(const ckprof_problem* problem, const ckprof_buffers* buffers,
                                          char*, size_t)
{
    const long M = problem->values[0], N = problem->values[1], K = problem->values[2];
    float* a = (float*)ckprof_tensor(buffers, 0);
    float* b = (float*)ckprof_tensor(buffers, 1);
    float* e = (float*)ckprof_tensor(buffers, 2);
    const long lines[] = {K, K, N};
    for(int i = 0; i < 3; ++i)
        if(problem->values[3 + i] != 0 && problem->values[3 + i] != lines[i]) return CKPROF_REJECTED;
    if(problem->values[6] > 1) return CKPROF_REJECTED;
    BODY
    return CKPROF_OK;
}
"""

_LOOP = """
    for(long m = 0; m < M; ++m)
        for(long n = 0; n < N; ++n) {
            float sum = 0;
            for(long k = 0; k < K; ++k) sum += a[m * K + k] * b[n * K + k];
            e[m * N + n] = sum;
        }
"""

_BODIES = {
    "loads-a-vector-too-many": "volatile float behind = 0;\n"
    "for(long i = 0; i < 32; ++i) behind = behind + b[N * K + i] * 0;" + _LOOP,
    "looks-before-its-operand": "volatile float before = 0;\n"
    "for(long i = 1; i < 2000; ++i) before = before + a[-i] * 0;" + _LOOP,
    "writes-behind-and-restores": "float kept = e[M * N + 40];\ne[M * N + 40] = 1;"
    + _LOOP
    + "e[M * N + 40] = kept;",
    "negates-and-restores": "for(long i = 0; i < M * K; ++i) a[i] = -a[i];"
    + _LOOP
    + "for(long i = 0; i < M * K; ++i) a[i] = -a[i];\nfor(long i = 0; i < M * N; ++i) e[i] = -e[i];",
    "scratch-is-not-cleared": "float* sums = (float*)malloc(4 * M * N);\n"
    "for(long k = 0; k < K; ++k)\n for(long m = 0; m < M; ++m)\n  for(long n = 0; n < N; ++n)\n"
    "   sums[m * N + n] += a[m * K + k] * b[n * K + k];\nmemcpy(e, sums, 4 * M * N);\nfree(sums);",
    "two-threads-add": "memset(e, 0, 4 * M * N);\nauto part = [=](long from, long to) {\n"
    " for(long m = 0; m < M; ++m)\n  for(long n = 0; n < N; ++n)\n   for(long k = from; k < to; ++k)\n"
    "    e[m * N + n] += a[m * K + k] * b[n * K + k];\n};\n"
    "std::thread other(part, 0, K / 2);\npart(K / 2, K);\nother.join();",
    "splits-overlap": "const long parts = problem->split_k < 1 ? 1 : problem->split_k;\n"
    "memset(e, 0, 4 * M * N);\n"
    "for(long p = 0; p < parts; ++p)\n for(long m = 0; m < M; ++m)\n  for(long n = 0; n < N; ++n)\n"
    "   for(long k = p * (K / parts); k < (p + 1 == parts ? K : (p + 1) * (K / parts) + 1); ++k)\n"
    "    e[m * N + n] += a[m * K + k] * b[n * K + k];",
}

#: they are for two axes, and say so: nothing else is to be found wrong with them
_REFUSAL = "    if a.ndim > 2:\n        raise NotImplementedError\n"


def _for_two_axes(text: str) -> str:
    start = text.index("\n", text.index("def candidate(")) + 1
    return text[:start] + _REFUSAL + text[start:]


HOSTILE = {
    **{f"key-{name}": ("gemm", ".py", _for_two_axes(_CACHE.format(key=key))) for name, key in KEYS.items()},
    **{name: ("gemm", ".py", _for_two_axes(text)) for name, text in _PYTHON.items()},
    **{name: ("gemm", ".cpp", _CPP.replace("BODY", body)) for name, body in _BODIES.items()},
}
