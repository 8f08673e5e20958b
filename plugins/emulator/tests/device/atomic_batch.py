"""References of atomic operations, and many of them executed at once, each on cells of its own."""

import ml_dtypes
import numpy as np

from plugins.emulator.tests.device.lane_values import active, random_state
from plugins.emulator.tests.device.wave import LANES, execute

Values = np.ndarray

#: what is stored, from what was there and from one or two operands, all unsigned
INTEGERS = {
    "swap": lambda old, a: a,
    "add": lambda old, a: old + a,
    "sub": lambda old, a: old - a,
    "smin": lambda old, a: np.minimum(signed(old), signed(a)).view(old.dtype),
    "umin": np.minimum,
    "smax": lambda old, a: np.maximum(signed(old), signed(a)).view(old.dtype),
    "umax": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": lambda old, a: np.where(old >= a, 0, old + old.dtype.type(1)).astype(old.dtype),
    "dec": lambda old, a: np.where((old == 0) | (old > a), a, old - old.dtype.type(1)),
}
FLOATS = {
    "add_f32": lambda old, a: (old.view(np.float32) + a.view(np.float32)).view(np.uint32),
    "add_f64": lambda old, a: (old.view(np.float64) + a.view(np.float64)).view(np.uint64),
    "min_f64": lambda old, a: np.minimum(old.view(np.float64), a.view(np.float64)).view(np.uint64),
    "max_f64": lambda old, a: np.maximum(old.view(np.float64), a.view(np.float64)).view(np.uint64),
    "pk_add_f16": lambda old, a: (old.view(np.float16) + a.view(np.float16)).view(np.uint32),
    "pk_add_bf16": lambda old, a: bf16_sums(old, a),
}
#: names of LDS that differ
LDS_INTEGERS = {
    **{f"{name}_{kind}": INTEGERS[name] for name, kind in (("add", "u"), ("sub", "u"), ("inc", "u"))},
    **{f"{name}_b": INTEGERS[name] for name in ("and", "or", "xor")},
    "dec_u": INTEGERS["dec"],
    "rsub_u": lambda old, a: a - old,
    "min_i": INTEGERS["smin"],
    "max_i": INTEGERS["smax"],
    "min_u": INTEGERS["umin"],
    "max_u": INTEGERS["umax"],
}


def signed(values):
    return values.view(np.int32 if values.dtype == np.uint32 else np.int64)


def bf16_sums(old, a):
    one, other = (x.view(ml_dtypes.bfloat16).astype(np.float32) for x in (old, a))
    return (one + other).astype(ml_dtypes.bfloat16).view(np.uint32)


def numbers(rng, name, dtype):
    """Return 64 values in bits: small or any integers, or finite numbers of the type in the name."""
    if name.startswith("pk_"):
        kind = ml_dtypes.bfloat16 if "bf16" in name else np.float16
        return rng.normal(0, 30, 2 * LANES).astype(kind).view(np.uint32)
    if name[-3:] in ("f32", "f64"):
        kind = np.float32 if name.endswith("32") else np.float64
        return rng.normal(0, 30, LANES).astype(kind).view(dtype)
    small = rng.integers(0, 3, LANES)
    return np.where(
        small > 1, rng.integers(0, np.iinfo(dtype).max, LANES, dtype, endpoint=True), small
    ).astype(dtype)


def set_values(state, register, values):
    for d, part in enumerate(np.ascontiguousarray(values).view(np.uint32).reshape(LANES, -1).T):
        state.vector[register + d] = part


def values_of(state, register, dtype):
    count = np.dtype(dtype).itemsize // 4
    return np.ascontiguousarray(state.vector[register : register + count].T).view(dtype)[:, 0]


def span(first, dtype):
    return f"v{first}" if dtype is np.uint32 else f"v[{first}:{first + 1}]"


class Batch:
    """Operations on regions of their own, executed by one wave: registers, text and what is expected."""

    def __init__(self, seed, mask):
        self.rng, self.mask = np.random.default_rng(seed), mask
        self.state = random_state(seed, mask)
        self.memory = np.zeros(64 * 512, np.uint8)
        self.text = []
        self.checks = []

    def add(self, name, dtype, apply, line, data):
        """``line`` names ``{base}``, ``{data}``, ``{second}``, ``{both}`` and ``{old}``."""
        n = len(self.checks)
        size = np.dtype(dtype).itemsize
        cells = self.memory[512 * n : 512 * n + LANES * size].view(dtype)
        cells[:] = numbers(self.rng, name, dtype)
        if "cmpswap" in name or "cmpst" in name:  # half of them are equal
            data[1 if "swap" in name else 0][::2] = cells[::2]
        register = 4 + 6 * n
        for k, values in enumerate(data):
            set_values(self.state, register + k * size // 4, values)
        before = cells.copy()
        stored = np.where(active(self.mask), apply(before, *data), before)
        old = np.where(active(self.mask), before, values_of(self.state, register + 4, dtype))
        both = f"v[{register}:{register + size // 2 - 1}]"
        self.text.append(
            line.format(
                base=512 * n,
                scalar=f"s[{2 + 2 * n}:{3 + 2 * n}]",
                address="v0" if size == 4 else "v1",
                data=span(register, dtype),
                second=span(register + size // 4, dtype),
                both=both,
                old=span(register + 4, dtype),
            )
        )
        self.checks.append((name, cells, register + 4, dtype, stored, old))

    def run(self, wait, arch="gfx942", *, lds=False):
        self.state.vector[0], self.state.vector[1] = np.arange(LANES) * 4, np.arange(LANES) * 8
        for n in range(len(self.checks)):
            if not lds and 3 + 2 * n < 100:
                self.state.set_scalar64(2 + 2 * n, self.memory.ctypes.data + 512 * n)
        if lds:
            self.state.lds = self.memory
        after = execute(
            "\n".join(self.text) + f"\ns_waitcnt {wait}", self.state, memory=[self.memory], arch=arch
        )
        for name, cells, register, dtype, stored, old in self.checks:
            assert np.array_equal(cells, stored), name
            assert np.array_equal(values_of(after, register, dtype), old), f"{name}: old value"
