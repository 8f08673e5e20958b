"""Atomic operations of LDS."""

import ml_dtypes
import numpy as np
import pytest

from plugins.emulator.tests.device.atomic_batch import FLOATS, LDS_INTEGERS, Batch, numbers, values_of
from plugins.emulator.tests.device.lane_values import SOME_LANES, active
from plugins.emulator.tests.device.wave import LANES, M0, State, execute

pytestmark = [pytest.mark.amd]


@pytest.mark.parametrize("result", [True, False])
def test_lds(result):
    batch = Batch(4, SOME_LANES)
    rtn, old = ("rtn_", "{old}, ") if result else ("", "")

    def add(name, dtype, apply, operands=1):
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
