"""Atomic operations of global memory, of buffers and of LDS."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest

from tests.plugins.targets.hip.emulator.lane_values import SOME_LANES, active, random_state
from tests.plugins.targets.hip.emulator.wave import (
    ALL_LANES,
    LANES,
    M0,
    USUAL_MODE,
    DeviceFault,
    State,
    assembled,
    execute,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.amd]

Values = np.ndarray

#: what is stored, from what was there and from one or two operands, all unsigned
INTEGERS: dict[str, Callable[[Values, Values], Values]] = {
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
FLOATS: dict[str, Callable[[Values, Values], Values]] = {
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


def signed(values: Values) -> Values:
    return values.view(np.int32 if values.dtype == np.uint32 else np.int64)


def bf16_sums(old: Values, a: Values) -> Values:
    one, other = (x.view(ml_dtypes.bfloat16).astype(np.float32) for x in (old, a))
    return (one + other).astype(ml_dtypes.bfloat16).view(np.uint32)


def numbers(rng: np.random.Generator, name: str, dtype: type) -> Values:
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


def set_values(state: State, register: int, values: Values) -> None:
    for d, part in enumerate(np.ascontiguousarray(values).view(np.uint32).reshape(LANES, -1).T):
        state.vector[register + d] = part


def values_of(state: State, register: int, dtype: type) -> Values:
    count = np.dtype(dtype).itemsize // 4
    return np.ascontiguousarray(state.vector[register : register + count].T).view(dtype)[:, 0]


def span(first: int, dtype: type) -> str:
    return f"v{first}" if dtype is np.uint32 else f"v[{first}:{first + 1}]"


class Batch:
    """Operations on regions of their own, executed by one wave: registers, text and what is expected."""

    def __init__(self, seed: int, mask: int) -> None:
        self.rng, self.mask = np.random.default_rng(seed), mask
        self.state = random_state(seed, mask)
        self.memory = np.zeros(64 * 512, np.uint8)
        self.text: list[str] = []
        self.checks: list[tuple[str, Values, int, type, Values, Values]] = []

    def add(
        self, name: str, dtype: type, apply: Callable[..., Values], line: str, data: list[Values]
    ) -> None:
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

    def run(self, wait: str, arch: str = "gfx942", *, lds: bool = False) -> None:
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


def memory_operations(batch: Batch, line: Callable[[str, bool], str], floats: tuple[str, ...]) -> None:
    for dtype, suffix in ((np.uint32, ""), (np.uint64, "_x2")):
        for name, apply in INTEGERS.items():
            data = [numbers(batch.rng, name, dtype)]
            batch.add(name, dtype, apply, line(name + suffix, False), data)
        two = [numbers(batch.rng, "cmpswap", dtype) for _ in range(2)]
        compare = lambda old, new, wanted: np.where(old == wanted, new, old)  # noqa: E731
        batch.add("cmpswap", dtype, compare, line("cmpswap" + suffix, True), two)
    for name in floats:
        dtype = np.uint64 if name.endswith("f64") else np.uint32
        batch.add(name, dtype, FLOATS[name], line(name, False), [numbers(batch.rng, name, dtype)])


@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES])
def test_global_memory(mask):
    batch = Batch(1, mask)
    memory_operations(
        batch,
        lambda name, two: (
            f"global_atomic_{name} {{old}}, {{address}}, {'{both}' if two else '{data}'}, {{scalar}} sc0"
        ),
        tuple(FLOATS),
    )
    batch.run("vmcnt(0)")


@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES])
def test_flat_addresses_of_lds(mask):
    batch = Batch(2, mask)
    batch.state.vector[3] = 0x10000
    lines = "v_add_u32_e32 v2, {base}, {address}\nflat_atomic_%s {old}, v[2:3], %s sc0"  # the aperture of LDS
    memory_operations(batch, lambda name, two: lines % (name, "{both}" if two else "{data}"), tuple(FLOATS))
    batch.run("vmcnt(0) lgkmcnt(0)", lds=True)


@pytest.mark.parametrize(
    ("arch", "floats"),
    [
        ("gfx90a", ("add_f32", "add_f64", "min_f64", "max_f64", "pk_add_f16")),
        ("gfx942", ("add_f32", "add_f64", "min_f64", "max_f64", "pk_add_f16")),
        ("gfx950", tuple(FLOATS)),
    ],
)
def test_buffers(arch, floats):
    """With sc0 (once glc) the old value comes back, in the registers of the data."""
    batch = Batch(3, SOME_LANES)
    flag = "glc" if arch == "gfx90a" else "sc0"
    # addresses are those of memory in the descriptor's base of 32 bits and more: set before the run
    memory = batch.memory.ctypes.data
    batch.state.scalar[4:8] = [memory & 0xFFFFFFFF, memory >> 32, batch.memory.nbytes, 0x20000]
    memory_operations(
        batch,
        lambda name, two: (
            "s_mov_b32 s8, {base}\n"
            f"buffer_atomic_{name} {'{both}' if two else '{data}'}, {{address}}, s[4:7], s8 offen {flag}"
        ),
        floats,
    )
    # the result replaces the first operand
    moved = []
    for name, cells, register, dtype, stored, old in batch.checks:
        first = register - 4
        kept = values_of(batch.state, first, dtype)
        moved.append((name, cells, first, dtype, stored, np.where(active(SOME_LANES), old, kept)))
    batch.checks = moved
    state = batch.state
    state.vector[0], state.vector[1] = np.arange(LANES) * 4, np.arange(LANES) * 8
    after = execute("\n".join(batch.text) + "\ns_waitcnt vmcnt(0)", state, memory=[batch.memory], arch=arch)
    for name, cells, register, dtype, stored, old in batch.checks:
        assert np.array_equal(cells, stored), name
        assert np.array_equal(values_of(after, register, dtype), old), f"{name}: old value"


@pytest.mark.parametrize("result", [True, False])
def test_lds(result):
    batch = Batch(4, SOME_LANES)
    rtn, old = ("rtn_", "{old}, ") if result else ("", "")

    def add(name: str, dtype: type, apply: Callable[..., Values], operands: int = 1) -> None:
        base, kind = name.rsplit("_", 1)
        data = [numbers(batch.rng, name, dtype) for _ in range(operands)]
        second = ", {second}" if operands == 2 else ""
        line = f"ds_{base}_{rtn}{kind} {old}{{address}}, {{data}}{second} offset:{{base}}"
        batch.add(name, dtype, apply, line, data)

    for dtype, bits in ((np.uint32, 32), (np.uint64, 64)):
        for name, apply in LDS_INTEGERS.items():
            add(f"{name}{bits}", dtype, apply)
        real = np.float32 if bits == 32 else np.float64
        # the comparison comes first, other than in memory
        add(f"cmpst_b{bits}", dtype, lambda cell, wanted, new: np.where(cell == wanted, new, cell), 2)
        add(
            f"cmpst_f{bits}",
            dtype,
            lambda cell, wanted, new, real=real: np.where(cell.view(real) == wanted.view(real), new, cell),
            2,
        )
        add(f"mskor_b{bits}", dtype, lambda cell, clear, set_: cell & ~clear | set_, 2)
        for name, apply in (("add", np.add), ("min", np.minimum), ("max", np.maximum)):
            add(
                f"{name}_f{bits}",
                dtype,
                lambda cell, a, apply=apply, real=real: apply(cell.view(real), a.view(real)).view(cell.dtype),
            )
    add("pk_add_f16", np.uint32, FLOATS["pk_add_f16"])
    add("pk_add_bf16", np.uint32, FLOATS["pk_add_bf16"])
    if result:
        add("wrap_b32", np.uint32, lambda cell, a, b: np.where(cell >= a, cell - a, cell + b), 2)
        add("wrxchg_b32", np.uint32, lambda cell, a: a)
        add("wrxchg_b64", np.uint64, lambda cell, a: a)
    if not result:  # nothing is written to registers
        batch.checks = [
            (name, cells, register, dtype, stored, values_of(batch.state, register, dtype))
            for name, cells, register, dtype, stored, _ in batch.checks
        ]
    batch.run("lgkmcnt(0)", lds=True)


def test_two_values_of_lds_are_exchanged():
    rng = np.random.default_rng(5)
    state = State(lds=rng.integers(0, 256, 40000, np.uint8))
    state.vector[:] = rng.integers(0, 2**32, state.vector.shape, np.uint32)
    state.vector[0] = np.arange(LANES) * 32
    start, lds = state.vector.copy(), state.lds.copy()
    after = execute(
        "ds_wrxchg2_rtn_b32 v[10:11], v0, v20, v21 offset0:1 offset1:2\n"
        "ds_wrxchg2st64_rtn_b64 v[12:15], v0, v[22:23], v[24:25] offset0:8 offset1:30\ns_waitcnt lgkmcnt(0)",
        state,
    )
    for register, data, offset, size in (
        (10, 20, 4, 4),
        (11, 21, 8, 4),
        (12, 22, 8 * 512, 8),
        (14, 24, 30 * 512, 8),
    ):
        for lane in range(LANES):
            at = int(start[0, lane]) + offset
            old = after.vector[register : register + size // 4, lane].copy().view(np.uint8)
            assert np.array_equal(old, lds[at : at + size])
            lds[at : at + size] = start[data : data + size // 4, lane].copy().view(np.uint8)
    assert np.array_equal(after.lds, lds)


def test_lanes_with_one_address_all_count():
    cells = np.zeros(8, np.uint32)
    state = State(lds=np.zeros(64, np.uint8))
    state.set_scalar64(2, cells.ctypes.data)
    state.vector[1], state.vector[2] = 3, np.float32(0.5).view(np.uint32)
    state.exec = SOME_LANES
    after = execute(
        "global_atomic_add v10, v0, v1, s[2:3] sc0\nglobal_atomic_add_f32 v0, v2, s[2:3] offset:4\n"
        "ds_add_rtn_u32 v11, v0, v1\ns_waitcnt vmcnt(0) lgkmcnt(0)",
        state,
        memory=[cells],
    )
    count = SOME_LANES.bit_count()
    assert cells[0] == 3 * count
    assert cells.view(np.float32)[1] == count / 2
    assert after.lds.view(np.uint32)[0] == 3 * count
    for register in (10, 11):
        assert sorted(after.vector[register][active(SOME_LANES)]) == [3 * n for n in range(count)]


@pytest.mark.parametrize("name", ["add v0, v1", "add_f32 v0, v2", "pk_add_f16 v0, v3"])
def test_waves_on_several_threads_lose_nothing(name):
    cells = np.zeros(16, np.uint32)
    repeats, threads = 60, 4
    words = assembled("gfx942", f"global_atomic_{name}, s[2:3]")
    code = [*words] * repeats

    def run(_: int) -> None:
        state = State()
        state.vector[0] = np.arange(LANES) % 16 * 4
        state.vector[1], state.vector[2] = 1, np.float32(1).view(np.uint32)
        state.vector[3] = np.array([1, 2], np.float16).view(np.uint32)[0]
        state.set_scalar64(2, cells.ctypes.data)
        execute(code, state, memory=[cells])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, range(threads)))
    total = repeats * threads * LANES // 16
    if "f16" in name:
        assert np.all(cells.view(np.float16).reshape(16, 2) == [total, 2 * total])
    else:
        assert np.all(cells.view(np.float32 if "f32" in name else np.uint32) == total)


def test_denormals_of_sums():
    """LDS treats them as the mode says; in memory gfx90a has none and later architectures keep them."""
    tiny = np.array([1e-40] * LANES, np.float32).view(np.uint32)
    for arch, kept in (("gfx90a", False), ("gfx942", True)):
        cells = np.zeros(LANES, np.uint32)
        state = State()
        state.vector[0], state.vector[1] = np.arange(LANES) * 4, tiny
        state.set_scalar64(2, cells.ctypes.data)
        execute("global_atomic_add_f32 v0, v1, s[2:3]", state, memory=[cells], arch=arch)
        assert np.array_equal(cells, tiny if kept else tiny * 0), arch
    for mode, kept in ((USUAL_MODE, True), (USUAL_MODE & ~0x30, False)):
        state = State(lds=np.zeros(4 * LANES, np.uint8), mode=mode)
        state.vector[0], state.vector[1] = np.arange(LANES) * 4, tiny
        after = execute("ds_add_f32 v0, v1\ns_waitcnt lgkmcnt(0)", state)
        assert np.array_equal(after.lds.view(np.uint32), tiny if kept else tiny * 0), mode


def test_halves_round_once_each_and_keep_denormals():
    rng = np.random.default_rng(8)
    one, other = (rng.integers(0, 1 << 16, 2 * LANES).astype(np.uint16) for _ in range(2))
    one[:4], other[:4] = [1, 0x7BFF, 0x7BFF, 0x0400], [1, 0x5000, 0x4BFF, 0x8001]
    for kind, name in ((np.float16, "f16"), (ml_dtypes.bfloat16, "bf16")):
        state = State(lds=one.copy().view(np.uint8))
        state.vector[0], state.vector[1] = np.arange(LANES) * 4, other.view(np.uint32)
        after = execute(f"ds_pk_add_{name} v0, v1", state).lds.view(kind).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            exact = one.view(kind).astype(np.float64) + other.view(kind).astype(np.float64)
            expected = exact.astype(kind).astype(np.float64)
        assert np.array_equal(after, expected, equal_nan=True), name


def test_counters_of_lds():
    state = State(lds=np.zeros(32, np.uint8))
    state.lds.view(np.uint32)[3] = 100
    state.scalar[M0] = 8
    state.exec = SOME_LANES
    state.vector[10] = state.vector[11] = 7
    after = execute("ds_append v10 offset:4\nds_consume v11 offset:4\ns_waitcnt lgkmcnt(0)", state)
    on, count = active(SOME_LANES), SOME_LANES.bit_count()
    assert np.array_equal(after.vector[10], np.where(on, 100, 7))
    assert np.array_equal(after.vector[11], np.where(on, 100 + count, 7))
    assert after.lds.view(np.uint32)[3] == 100


def test_what_is_not_aligned_is_a_fault():
    cells = np.zeros(4, np.uint64)
    state = State()
    state.set_scalar64(2, cells.ctypes.data + 4)
    with pytest.raises(DeviceFault, match="an atomic access that is not aligned: global_atomic_add_x2"):
        execute("global_atomic_add_x2 v0, v[2:3], s[2:3]", state, memory=[cells])
