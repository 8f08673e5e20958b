"""Candidates that must not be judged right: those that are wrong somewhere, or now and then."""

from __future__ import annotations

from .hostile_sources import conv, cpp, py

HOSTILE: dict[str, tuple[str, ...]] = {
    "tail-of-k": py("""
def candidate(a, b):
    k = max(8, a.shape[-1] // 8 * 8)
    return right(a[..., :k], b[..., :k])
"""),
    "last-odd-row": py("""
def candidate(a, b):
    c = right(a, b)
    if c.shape[-2] % 2 and c.shape[-2] > 16:
        c[..., -1, :] = 0
    return c
"""),
    "first-of-a-batch": py("""
def candidate(a, b):
    c = right(a, b)
    if c.ndim == 3:
        c[1:] = c[0]
    return c
"""),
    "lines-with-gaps": cpp("\n    p.la = p.lb = p.k;\n    p.all();"),
    "no-dilation": conv(
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
    "pads-of-one-side": conv("""
def candidate(input, weight, problem):
    p = problem
    total = [a + b for a, b in zip(p.left_pads, p.right_pads)]
    lefts = [t // 2 for t in total]
    return right(input, weight, p, lefts=lefts, rights=[t - l for t, l in zip(total, lefts)])
"""),
    "weight-of-the-first-group": conv("""
def candidate(input, weight, problem):
    return right(input, np.broadcast_to(weight[:1], weight.shape), problem)
"""),
    "one-stride-for-all-axes": conv("""
def candidate(input, weight, problem):
    if len(set(problem.strides)) > 1:
        raise ValueError("strides")
    return right(input, weight, problem)
"""),
    "hangs-on-one-channel": conv("""
import time
def candidate(input, weight, problem):
    while problem.in_channels == 1:
        time.sleep(1)
    return right(input, weight, problem)
"""),
    # --- splits
    "last-split-lost": cpp("""
    const std::int64_t parts = problem->split_k > 1 ? problem->split_k : 1;
    const std::int64_t step = (p.k + parts - 1) / parts;
    const std::int64_t most = step * (parts - 1) < p.k ? step * (parts - 1) : p.k - 1;
    for(std::int64_t one = 0; one < p.batch; ++one)
        for(std::int64_t i = 0; i < p.m; ++i)
            for(std::int64_t j = 0; j < p.n; ++j)
                p.at(one, i, j) = p.sum(one, i, j, 0, parts > 1 ? most : p.k);
"""),
    "splits-of-python": py("""
def candidate(a, b, split_k):
    return right(a, b) / max(1, split_k)
"""),
    # --- races
    "race-of-threads": cpp("""
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
    "race-in-python": py("""
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
    "uninitialised-sums": py("""
def candidate(a, b):
    c = np.empty((*a.shape[:-1], b.shape[-2]), np.float32)
    c += right(a, b)
    return c
"""),
    "uninitialised-memory-of-c": cpp("""
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
    "last-element-unwritten": py("""
def candidate(a, b, e):
    c = right(a, b)
    e.ravel()[:-1] = c.ravel()[:-1] if e.flags.c_contiguous else 0
"""),
    "writes-behind-the-end": cpp("""
    p.all();
    p.e[p.batch * p.m * p.le + 3] = 0;
"""),
    "uninitialised-local-of-c": cpp("""
    p.all();
    float values[2];
    volatile int one = 1;
    if(p.m < 0)
        values[1] = 0;
    if(values[one] < -1e30f)
        p.e[0] = 3;
"""),
    "reads-behind-its-memory": cpp("""
    p.all();
    std::vector<float> values(8);
    volatile float read = values.data()[8 + (p.m > 0)];
    (void)read;
"""),
    "race-that-is-right": cpp("""
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
    "sums-in-fp16": py("""
def candidate(a, b):
    return right(a.astype(np.float16), b.astype(np.float16))
"""),
    "operands-in-bf16": py("""
def cut(x):
    return (np.ascontiguousarray(x).view(np.uint32) & 0xFFFF0000).view(np.float32)
def candidate(a, b):
    return right(cut(a), cut(b))
"""),
    "result-in-fp16": py("""
def candidate(a, b):
    return right(a, b).astype(np.float16)
"""),
    "operands-in-tf32": py("""
def cut(x):
    return (np.ascontiguousarray(x).view(np.uint32) & 0xFFFFE000).view(np.float32)
def candidate(a, b):
    return right(cut(a), cut(b))
"""),
    "a-product-less": py("""
def candidate(a, b):
    return right(a[..., 1:], b[..., 1:]) if a.shape[-1] > 50 else right(a, b)
"""),
    # --- what is not its own
    "scales-operands": py("""
def candidate(a, b):
    a *= 2
    b *= 0.5
    return right(a, b)
"""),
    "clears-an-operand": py("""
def candidate(a, b):
    c = right(a, b)
    a[...] = 0
    return c
"""),
    "replaces-the-program": py("""
import sys
def candidate(a, b):
    program = sys._getframe(1).f_globals
    program["_launched"] = lambda candidate: {"status": 0, "reason": "", "clocks": [0.0, 0.0, 0.0]}
    return right(a, b)
"""),
    "ends-its-process": py("""
import os
def candidate(a, b):
    os._exit(0)
"""),
    "wrong-shape": py("""
def candidate(a, b):
    return right(a, b).T
"""),
    "not-numbers": py("""
def candidate(a, b):
    return right(a, b) * np.nan
"""),
    "hangs-after-a-while": py("""
import time
count = 0
def candidate(a, b):
    global count
    count += 1
    if count == 50:
        time.sleep(100)
    return right(a, b)
"""),
    "raises-half-a-character": py("""
def candidate(a, b):
    raise ValueError(chr(0xd800))
"""),
    # --- the program that calls it
}
