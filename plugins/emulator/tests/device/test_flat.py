"""Loads and stores of global memory, of scratch, and by flat addresses."""

import numpy as np
import pytest

from plugins.emulator.tests.device.lane_values import (
    SOME_LANES,
    STORES,
    active,
    random_bytes,
    random_state,
    span,
    words,
)
from plugins.emulator.tests.device.wave import ACC, ALL_LANES, LANES, DeviceFault, State, execute

pytestmark = [pytest.mark.amd]


def set_addresses(state, addresses, register=0):
    state.vector[register] = addresses.astype(np.uint64) & np.uint64(0xFFFFFFFF)
    state.vector[register + 1] = addresses.astype(np.uint64) >> np.uint64(32)


@pytest.mark.parametrize("segment", ["global", "flat"])
@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES])
def test_every_width_of_loads(segment, mask):
    data = random_bytes(1, 4096)
    state = random_state(1, mask)
    offsets = np.random.default_rng(1).permutation(LANES) * 49 + 64
    set_addresses(state, offsets + data.ctypes.data)
    start, on = state.vector.copy(), active(mask)
    off = ", off" if segment == "global" else ""
    add = -16 if segment == "global" else 16
    text = "\n".join(
        f"{segment}_load_dword{'' if n == 1 else f'x{n}'} {span(10 * n, n)}, v[0:1]{off} offset:{n * add}"
        for n in (1, 2, 3, 4)
    )
    text += f"\n{segment}_load_ubyte v60, v[0:1]{off}\n{segment}_load_short_d16_hi v61, v[0:1]{off}"
    text += f"\n{segment}_load_dwordx2 a[2:3], v[0:1]{off}"
    after = execute(text + "\ns_waitcnt vmcnt(0) lgkmcnt(0)", state, memory=[data])
    for n in (1, 2, 3, 4):
        expected = np.where(on, words(data, offsets + n * add, n), start[10 * n :][:n])
        assert np.array_equal(after.vector[10 * n :][:n], expected), n
    short = data[offsets].astype(np.uint32) << 16 | data[offsets + 1].astype(np.uint32) << 24
    assert np.array_equal(after.vector[60], np.where(on, data[offsets], start[60]))
    assert np.array_equal(after.vector[61], np.where(on, short | start[61] & np.uint32(0xFFFF), start[61]))
    expected = np.where(on, words(data, offsets, 2), start[ACC + 2 : ACC + 4])
    assert np.array_equal(after.vector[ACC + 2 : ACC + 4], expected)


@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES])
@pytest.mark.parametrize(("name", "size", "shift"), STORES)
def test_every_width_of_stores_with_a_scalar_base(name, size, shift, mask):
    data = random_bytes(2, 4096)
    expected = data.copy()
    state = random_state(2, mask)
    state.vector[0] = np.random.default_rng(2).permutation(LANES) * 17
    state.set_scalar64(2, data.ctypes.data + 100)
    start = state.vector.copy()
    execute(f"global_store_{name} v0, {span(10, max(1, size // 4))}, s[2:3] offset:-40", state, memory=[data])
    for lane in np.flatnonzero(active(mask)):
        value = (start[10:14, lane] >> np.uint32(shift)).view(np.uint8)[:size]
        at = int(start[0, lane]) + 60
        expected[at : at + size] = value
    assert np.array_equal(data, expected)


def test_flat_addresses_reach_lds_and_scratch_by_their_apertures():
    data = random_bytes(3, 256)
    state = random_state(3, lds=random_bytes(4, 256), scratch_lane_bytes=64)
    shared, private = 0x10000 << 32, 0x20000 << 32
    kind = np.arange(LANES) % 3
    base = np.choose(kind, [data.ctypes.data, shared, private])
    offsets = np.where(kind == 2, 8, np.arange(LANES) * 4)
    set_addresses(state, base + offsets)
    start, lds = state.vector.copy(), state.lds.copy()
    after = execute(
        "flat_load_dword v10, v[0:1]\nflat_store_dword v[0:1], v20\n"
        "s_waitcnt vmcnt(0) lgkmcnt(0)\nflat_load_dword v11, v[0:1]\n"
        "scratch_load_dword v12, off, off offset:8\ns_waitcnt vmcnt(0) lgkmcnt(0)",
        state,
        memory=[data],
    )
    at = np.arange(LANES) * 4
    expected = np.choose(kind, [words(random_bytes(3, 256), at, 1)[0], words(lds, at, 1)[0], 0])
    assert np.array_equal(after.vector[10], expected)
    assert np.array_equal(after.vector[11], start[20])
    assert np.array_equal(after.vector[12], np.where(kind == 2, start[20], 0))
    for target, number in ((data, 0), (after.lds, 1)):
        is_written = np.repeat(kind == number, 4)
        before = random_bytes(3, 256) if number == 0 else lds
        assert np.array_equal(target, np.where(is_written, start[20].view(np.uint8), before))


@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES])
def test_scratch_belongs_to_a_lane(mask):
    state = random_state(5, mask, scratch_lane_bytes=256)
    state.vector[0] = np.random.default_rng(5).integers(0, 30, LANES) * 4
    state.scalar[3] = 16
    start, on = state.vector.copy(), active(mask)
    after = execute(
        "scratch_store_dwordx4 off, v[10:13], s3 offset:4\n"  # 20 to 36
        "scratch_load_dwordx3 v[20:22], off, off offset:24\n"
        "scratch_store_dwordx2 v0, v[14:15], s3 offset:32\n"  # 48 + v0
        "scratch_load_dword v23, v0, off offset:52\n"
        "scratch_store_byte off, v16, off offset:21\n"
        "scratch_load_dword v24, off, off offset:19\n"
        "s_waitcnt vmcnt(0)",
        state,
    )
    assert np.array_equal(after.vector[20:23], np.where(on, start[11:14], start[20:23]))
    assert np.array_equal(after.vector[23], np.where(on, start[15], start[23]))
    first = start[10] & np.uint32(0xFFFF00FF) | (start[16] & np.uint32(0xFF)) << 8
    assert np.array_equal(after.vector[24], np.where(on, first << 8, start[24]))


def test_past_the_end_of_scratch_is_a_fault():
    with pytest.raises(DeviceFault, match="write of 8 bytes at 0x200000000003c: scratch_store_dwordx2"):
        execute("scratch_store_dwordx2 off, v[0:1], off offset:60", State(scratch_lane_bytes=64))


def test_one_lane_outside_of_all_allocations_is_a_fault():
    data = random_bytes(6, 1024)
    state = random_state(6)
    offsets = np.arange(LANES) * 16
    offsets[7] = 1012
    set_addresses(state, offsets + data.ctypes.data)
    text = "global_load_dwordx4 v[10:13], v[0:1], off"
    with pytest.raises(DeviceFault, match=f"read of 16 bytes at {data.ctypes.data + 1012:#x}: {text[:19]}"):
        execute(text, state, memory=[data])
    state.exec = ALL_LANES & ~(1 << 7)
    execute(text, state, memory=[data])


def test_scratch_of_gfx90a_is_a_swizzled_buffer():
    """The stack pointer counts bytes of all 64 lanes, offsets of registers those of the lane."""
    state = random_state(7, SOME_LANES, scratch_lane_bytes=256)
    state.vector[0] = np.random.default_rng(7).integers(0, 20, LANES) * 4
    state.scalar[32] = 64 * 16
    start, on = state.vector.copy(), active(SOME_LANES)
    after = execute(
        "buffer_store_dword v10, off, s[96:99], s32 offset:8\n"  # 24
        "buffer_store_dwordx2 v[12:13], v0, s[96:99], s32 offen offset:64\n"  # 80 + v0
        "buffer_load_dword v20, off, s[96:99], 0 offset:24\n"
        "buffer_load_dword v21, v0, s[96:99], 0 offen offset:84\n"
        "buffer_load_ushort v22, off, s[96:99], 0 offset:26\n"
        "buffer_load_dword v23, off, s[96:99], 0 offset:28\n"
        "v_mov_b32 v31, 0x20000\nv_mov_b32 v30, 24\nflat_load_dword v24, v[30:31]\n"
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
        state,
        arch="gfx90a",
    )
    assert np.array_equal(after.vector[20], np.where(on, start[10], start[20]))
    assert np.array_equal(after.vector[21], np.where(on, start[13], start[21]))
    assert np.array_equal(after.vector[22], np.where(on, start[10] >> np.uint32(16), start[22]))
    assert np.array_equal(after.vector[23], np.where(on, 0, start[23]))
    assert np.array_equal(after.vector[24], np.where(on, start[10], start[24]))
