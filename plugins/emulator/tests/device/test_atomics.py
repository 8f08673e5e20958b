"""Atomic operations of global memory and of buffers, and of LDS by flat addresses."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from plugins.emulator.tests.device.atomic_batch import FLOATS, INTEGERS, Batch, numbers, values_of
from plugins.emulator.tests.device.lane_values import SOME_LANES, active
from plugins.emulator.tests.device.wave import (
    ALL_LANES,
    LANES,
    USUAL_MODE,
    DeviceFault,
    State,
    assembled,
    execute,
)

pytestmark = [pytest.mark.amd]


def memory_operations(batch, line, floats):
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

    def run(_):
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


def test_what_is_not_aligned_is_a_fault():
    cells = np.zeros(4, np.uint64)
    state = State()
    state.set_scalar64(2, cells.ctypes.data + 4)
    with pytest.raises(DeviceFault, match="an atomic access that is not aligned: global_atomic_add_x2"):
        execute("global_atomic_add_x2 v0, v[2:3], s[2:3]", state, memory=[cells])
