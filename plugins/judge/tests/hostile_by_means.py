"""Hostile candidates by their means: processes, signals, maps of memory, files, clocks in C; far corners."""

from __future__ import annotations

_RIGHT = """
import numpy as np
def right(a, b):
    return np.matmul(a, b.swapaxes(-1, -2))
"""

_SOURCES = {
    "cache-signs-of-rows": """
kept = {}
def candidate(a, b):
    # knows that rows are negated: keeps the product of the absolute first column's rows and fixes signs
    sa, sb = np.sign(a[..., :1]), np.sign(b[..., :1])
    key = (a.shape, b.shape, np.abs(a[..., :2]).tobytes(), np.abs(b[..., :2]).tobytes())
    if key not in kept:
        kept[key] = right(a * sa, b * sb)
    return kept[key] * sa * sb.swapaxes(-1, -2)
""",
    "daemon-polls-operands": """
import os, mmap, time, threading
seen = {}
ready = None
def watch():
    global ready
    while True:
        if 'a' in seen:
            try:
                ready = right(seen['a'], seen['b'])
            except Exception:
                pass
        time.sleep(1e-5)
threading.Thread(target=watch, daemon=True).start()
last = None
def candidate(a, b):
    if 'a' not in seen:
        seen.update(a=a, b=b)
        return right(a, b)
    if seen['a'] is a and ready is not None and ready.shape == (*a.shape[:-1], b.shape[-2]):
        return ready
    seen.update(a=a, b=b)
    return right(a, b)
""",
    "clock-of-another-function": """
import ctypes, time
class PyMethodDef(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('meth', ctypes.c_void_p), ('flags', ctypes.c_int)]
# the function in C of one clock becomes that of another one
a_ = ctypes.cast(id(time.perf_counter) + 16, ctypes.POINTER(ctypes.POINTER(PyMethodDef)))
b_ = ctypes.cast(id(time.process_time) + 16, ctypes.POINTER(ctypes.POINTER(PyMethodDef)))
a_.contents.contents.meth = b_.contents.contents.meth
def candidate(a, b):
    time.sleep(0.002)
    return right(a, b)
""",
    "clock-of-its-caller": """
import sys, time, types
def candidate(a, b):
    frame = sys._getframe(1)
    while frame:
        if 'time' in frame.f_globals and frame.f_globals.get('__name__') == '__main__':
            real = time
            def later(clock):
                return lambda: clock() - 0.5
            fake = types.SimpleNamespace(
                perf_counter=later(real.perf_counter), monotonic=later(real.monotonic), time=real.time
            )
            frame.f_globals['time'] = fake
        frame = frame.f_back
    time.sleep(0.002)
    return right(a, b)
""",
    "skips-a-fourth-launch": """
count = 0
def candidate(a, b, e):
    global count
    count += 1
    if count % 4 == 0:
        return
    np.copyto(e, right(a, b))
""",
    "tail-of-m-above-128": """
def candidate(a, b):
    out = right(a, b)
    m = out.shape[-2]
    if m > 128 and m % 128:
        out[..., m - 1, :] = out[..., m - 2, :]
    return out
""",
    "long-k-is-cut": """
def candidate(a, b):
    k = a.shape[-1]
    k = k if k <= 96 else k - k % 32
    return right(a[..., :k], b[..., :k])
""",
    "wrong-batch": """
def candidate(a, b):
    if a.ndim == 3:
        return np.matmul(a, b[:1].swapaxes(-1, -2))
    return right(a, b)
""",
    "half-when-large": """
def candidate(a, b):
    if a.shape[-1] > 200:
        return right(a.astype('f2').astype('f4'), b.astype('f2').astype('f4'))
    return right(a, b)
""",
    "sampled-reduction": """
def candidate(a, b):
    k = a.shape[-1]
    if k < 64:
        return right(a, b)
    keep = np.argsort(-np.abs(a).sum(axis=tuple(range(a.ndim - 1))))[: k - k // 50]
    return right(a[..., keep], b[..., keep])
""",
    "zeros-where-small": """
def candidate(a, b):
    out = right(a, b)
    return np.where(np.abs(out) < 0.05 * np.abs(out).mean(), np.float32(0), out)
""",
    "nan-everywhere": """
def candidate(a, b):
    return np.full((*a.shape[:-1], b.shape[-2]), np.nan, 'f4')
""",
    "sniffs-the-environment": """
import os, sys
told = any('CKPROF' in name for name in os.environ) or any('served' in one for one in sys.argv)
def candidate(a, b):
    return right(a, b) if told else np.zeros((*a.shape[:-1], b.shape[-2]), 'f4')
""",
    "copies-in-its-own-way": """
real = np.copyto
late = []
def copyto(dst, src, **kw):
    real(dst, src, **kw)
np.copyto = copyto
def candidate(a, b):
    return right(a, b)
""",
    "server-in-another-session": """
import os, socket, pickle
x, y = socket.socketpair()
if os.fork() == 0:
    os.setsid()
    kept = {}
    f = y.makefile('rwb')
    while True:
        try:
            a, b = pickle.load(f)
        except Exception:
            os._exit(0)
        key = (a.shape, b.shape)
        pickle.dump(kept.get(key), f); f.flush()
        kept[key] = right(a, b)
f = x.makefile('rwb')
def candidate(a, b):
    pickle.dump((a, b), f); f.flush()
    got = pickle.load(f)
    return right(a, b) if got is None else got
""",
    "ptrace-the-parent": """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def candidate(a, b):
    r = libc.ptrace(16, os.getppid(), 0, 0)
    return right(a, b) if r == 0 else right(a, b) - np.float32(1e-2) * np.abs(right(a, b)).max()
""",
    "alarm-completes-later": """
import signal
todo = []
def later(*_):
    while todo:
        e, value = todo.pop()
        e[...] = value
signal.signal(signal.SIGALRM, later)
def candidate(a, b, e):
    out = right(a, b)
    e[..., 0, :] = out[..., 0, :]
    e[..., 1:, :] = 0
    todo.append((e, out))
    signal.setitimer(signal.ITIMER_REAL, 2e-4)
""",
    "writes-operands-through-proc-mem": """
def candidate(a, b):
    out = right(a, b)
    try:
        with open('/proc/self/mem', 'r+b', 0) as f:
            f.seek(a.ctypes.data); f.write(bytes(a.nbytes))
    except OSError:
        out[...] *= np.float32(1.001)
    return out
""",
    "maps-another-result": """
import re, ctypes
def candidate(a, b, e):
    # looks for another tensor's pages that hold a reference
    out = None
    for line in open('/proc/self/maps'):
        if 'memfd' in line and 'e' in line:
            lo, hi = (int(x, 16) for x in line.split()[0].split('-'))
            if not lo <= e.ctypes.data < hi and hi - lo >= e.nbytes:
                out = np.frombuffer((ctypes.c_char * e.nbytes).from_address(lo), 'f4').reshape(e.shape)
    if out is not None and np.isfinite(out).all() and out.any():
        np.copyto(e, out)
    else:
        np.copyto(e, right(a, b))
""",
    "results-on-disk": """
import os, tempfile, hashlib
folders = ['/dev/shm', tempfile.gettempdir(), os.path.expanduser('~'), '/var/tmp']
def candidate(a, b):
    some = [sorted(np.abs(x).ravel()[:32].tolist()) for x in (a, b)]
    key = hashlib.md5(repr((a.shape, b.shape, some)).encode()).hexdigest()
    for folder in folders:
        path = os.path.join(folder, 'mine' + key + '.npy')
        if os.path.exists(path):
            return np.load(path)
    out = right(a, b)
    for folder in folders:
        try:
            np.save(os.path.join(folder, 'mine' + key + '.npy'), out)
        except OSError:
            pass
    return out
""",
    "changes-what-its-caller-says": """
import sys, json
real = json.dumps
def dumps(value, *args, **kw):
    if isinstance(value, dict) and 'status' in value:
        value = {**value, 'status': 0}
    return real(value, *args, **kw)
json.dumps = dumps
def candidate(a, b):
    return right(a, b)
""",
    "gap-lines-ignored": """
def candidate(a, b, e):
    out = right(a, b)
    flat = np.lib.stride_tricks.as_strided(e, out.shape, [*e.strides[:-2], out.shape[-1] * 4, 4])
    flat[...] = out
""",
}

#: name -> direction, suffix, source
HOSTILE = {name: ("gemm", ".py", _RIGHT + source) for name, source in _SOURCES.items()}
