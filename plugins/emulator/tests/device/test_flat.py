"""Loads and stores of global memory, of scratch, by flat addresses, and through buffers."""

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
from plugins.emulator.tests.device.wave import ACC, ALL_LANES, LANES, M0, DeviceFault, State, execute

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


_DWORD = 0x00020000  # last word of the descriptors that CK makes


def descriptor(address, records, *, stride=0, swizzle=False, last=_DWORD):
    return [address & 0xFFFFFFFF, address >> 32 | stride << 16 | int(swizzle) << 31, records, last]


def buffer_state(seed, data, records=None, **fields):
    state = random_state(seed)
    records = data.nbytes if records is None else records
    state.scalar[4:8] = descriptor(data.ctypes.data, records, **fields)
    return state


def dwords(data, offsets, count, records):
    """Return ``[dword, lane]``: 0 for each that is not wholly below ``records``."""
    return np.array(
        [
            [
                int.from_bytes(data[o + 4 * d : o + 4 * d + 4].tobytes(), "little")
                if o + 4 * d + 4 <= records
                else 0
                for o in offsets.astype(int)
            ]
            for d in range(count)
        ],
        np.uint32,
    )


@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES])
def test_every_width_with_offsets_and_bounds_for_each_dword(mask):
    data, records = random_bytes(1, 2048), 1000
    state = buffer_state(1, data, records)
    # the last lanes leave the buffer in the midst of their dwords; one is far away
    state.vector[0] = np.arange(LANES) * 17 + 4
    state.vector[0, 9] = 0xFFFFFFF0
    state.vector[0, 10] = 0x80000000
    state.scalar[12] = 40
    state.exec = mask
    start, on = state.vector.copy(), active(mask)
    text = "\n".join(
        f"buffer_load_dword{'' if n == 1 else f'x{n}'} {span(10 * n, n)}, v0, s[4:7], s12 offen offset:{n}"
        for n in (1, 2, 3, 4)
    )
    after = execute(text + "\ns_waitcnt vmcnt(0)", state, memory=[data])
    for n in (1, 2, 3, 4):
        loaded = dwords(data, start[0].astype(np.uint64) + np.uint64(40 + n), n, records)
        expected = np.where(on, loaded, start[10 * n :][:n])
        assert np.array_equal(after.vector[10 * n :][:n], expected), n


@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES])
@pytest.mark.parametrize(("name", "size", "shift"), STORES)
def test_stores_of_every_width_leave_out_what_is_past_the_end(name, size, shift, mask):
    data, records = random_bytes(2, 2048), 1003
    expected = data.copy()
    state = buffer_state(2, data, records)
    state.vector[0] = np.random.default_rng(3).permutation(LANES) * 18
    state.exec = mask
    start = state.vector.copy()
    execute(
        f"buffer_store_{name} {span(10, max(1, size // 4))}, v0, s[4:7], 24 offen offset:3",
        state,
        memory=[data],
    )
    piece = min(size, 4)
    for lane in np.flatnonzero(active(mask)):
        value = (start[10:14, lane] >> np.uint32(shift)).view(np.uint8)
        for d in range(0, size, piece):
            at = int(start[0, lane]) + 27 + d
            if at + piece <= records:
                expected[at : at + piece] = value[d : d + piece]
    assert np.array_equal(data, expected)


def test_bytes_and_shorts():
    data = random_bytes(4, 512)
    state = buffer_state(4, data, 400)
    state.vector[0] = np.arange(LANES) * 7
    start = state.vector.copy()
    at = start[0].astype(int)
    byte = np.where(at < 400, data[at], 0).astype(np.uint32)
    short = np.where(at + 2 <= 400, data[at] | data[at + 1].astype(np.uint32) << 8, 0).astype(np.uint32)
    signed_byte = byte.astype(np.uint8).view(np.int8).astype(np.int32).view(np.uint32)
    signed_short = short.astype(np.uint16).view(np.int16).astype(np.int32).view(np.uint32)
    low, high = np.uint32(0xFFFF), np.uint32(0xFFFF0000)
    expected = {"ubyte": byte, "sbyte": signed_byte, "ushort": short, "sshort": signed_short}
    for name, values in (("ubyte", byte), ("sbyte", signed_byte), ("short", short)):
        row = 10 + len(expected)
        expected[f"{name}_d16"] = start[row] & high | values & low
        expected[f"{name}_d16_hi"] = start[row + 1] & low | values << 16
    text = "\n".join(f"buffer_load_{name} v{10 + n}, v0, s[4:7], 0 offen" for n, name in enumerate(expected))
    after = execute(text + "\ns_waitcnt vmcnt(0)", state, memory=[data])
    for n, (name, values) in enumerate(expected.items()):
        assert np.array_equal(after.vector[10 + n], values), name


def test_index_is_held_against_the_records_of_structured_buffers():
    data = random_bytes(5, 64 * 24)
    state = buffer_state(5, data, 50, stride=24)
    state.vector[0] = np.random.default_rng(5).permutation(LANES)
    state.vector[1] = np.arange(LANES) % 3 * 4
    start = state.vector.copy()
    state.scalar[M0] = 4
    after = execute(
        "buffer_load_dwordx2 v[10:11], v0, s[4:7], 0 idxen offset:8\n"
        "buffer_load_dword v12, v[0:1], s[4:7], m0 idxen offen offset:8\n"
        "s_waitcnt vmcnt(0)",
        state,
        memory=[data],
    )
    inside = start[0] < 50
    at = start[0].astype(int) * 24 + 8
    assert np.array_equal(after.vector[10:12], np.where(inside, dwords(data, at, 2, 1 << 31), 0))
    assert np.array_equal(
        after.vector[12], np.where(inside, dwords(data, at + start[1] + 4, 1, 1 << 31)[0], 0)
    )


def test_results_arrive_with_the_wait_and_in_order_with_stores():
    data = random_bytes(7, 1024)
    state = buffer_state(7, data)
    state.vector[0] = np.arange(LANES) * 4
    start = state.vector.copy()
    loaded = data[:256].copy().view(np.uint32)
    other = data[256:512].copy().view(np.uint32)
    after = execute(
        "buffer_load_dword v10, v0, s[4:7], 0 offen\n"
        "buffer_store_dword v20, v0, s[4:7], 0 offen\n"
        "buffer_load_dword v11, v0, s[4:7], 0 offen offset:256\n"
        "s_waitcnt vmcnt(3)\nv_add_u32_e32 v12, 0, v10\n"
        "s_waitcnt vmcnt(2)\nv_add_u32_e32 v13, 0, v10\n"
        "s_waitcnt vmcnt(1)\nv_add_u32_e32 v14, 0, v11\n"
        "s_waitcnt vmcnt(0)\nv_add_u32_e32 v15, 0, v11",
        state,
        memory=[data],
    )
    assert np.array_equal(after.vector[12], start[10])
    assert np.array_equal(after.vector[13], loaded)
    assert np.array_equal(after.vector[14], start[11])
    assert np.array_equal(after.vector[15], other)
    assert np.array_equal(data[:256].view(np.uint32), start[20])


@pytest.mark.parametrize("swizzle", [False, True])
@pytest.mark.parametrize("add_thread", [False, True])
def test_index_strides_and_swizzles(swizzle, add_thread):
    """Swizzled: the same 4 bytes of each of 16 elements lie side by side."""
    data = random_bytes(8, 256 * 16 + 16)
    last = 1 << 21 | int(add_thread) << 23 | (0 if add_thread else _DWORD)
    state = buffer_state(8, data, 150, stride=16, swizzle=swizzle, last=last)
    state.vector[0] = np.random.default_rng(8).permutation(160)[:LANES]
    state.vector[1] = np.arange(LANES) % 4
    start, before = state.vector.copy(), data.copy()
    after = execute(
        "buffer_load_dwordx2 v[10:11], v0, s[4:7], 16 idxen offset:4\n"
        "buffer_store_byte v12, v[0:1], s[4:7], 16 idxen offen offset:12\n"
        "s_waitcnt vmcnt(0)",
        state,
        memory=[data],
    )

    def place(lane, offset):
        index = int(start[0, lane]) + (lane if add_thread else 0)
        if not swizzle:
            return 16 + 16 * index + offset
        return 16 + (index // 16 * 16 + offset // 4 * 4) * 16 + index % 16 * 4 + offset % 4

    expected = before.copy()
    for lane in range(LANES):
        inside = start[0, lane] < 150
        for d in range(2):
            at = place(lane, 4 + 4 * d)
            loaded = int.from_bytes(before[at : at + 4].tobytes(), "little") if inside else 0
            assert after.vector[10 + d, lane] == loaded
        if inside:
            expected[place(lane, 12 + int(start[1, lane]))] = start[12, lane] & 0xFF
    assert np.array_equal(data, expected)


def test_no_bounds_but_memory_faults_for_wrong_descriptors():
    data = random_bytes(9, 256)
    state = buffer_state(9, data, 1 << 20)
    state.vector[0] = np.arange(LANES) * 8
    with pytest.raises(
        DeviceFault, match=f"write of 4 bytes at {data.ctypes.data + 256:#x}: buffer_store_dword"
    ):
        execute("buffer_store_dword v1, v0, s[4:7], 0 offen", state, memory=[data])


def test_atomics_outside_change_nothing_and_return_0():
    data = np.zeros(LANES, np.uint32)
    state = buffer_state(10, data.view(np.uint8), 100)
    state.vector[0], state.vector[1] = np.arange(LANES) * 4, 5
    state.scalar[8] = 8
    after = execute(
        "buffer_atomic_add v1, v0, s[4:7], s8 offen sc0\ns_waitcnt vmcnt(0)", state, memory=[data]
    )
    inside = np.arange(LANES) * 4 + 12 <= 100
    assert np.array_equal(data[2:], np.where(inside, 5, 0)[: LANES - 2])
    assert np.all(after.vector[1] == 0)
