"""Loads and stores through buffers: addresses, bounds, widths."""

import numpy as np
import pytest

from plugins.emulator.tests.device.lane_values import (
    SOME_LANES,
    STORES,
    active,
    random_bytes,
    random_state,
    span,
)
from plugins.emulator.tests.device.wave import ALL_LANES, LANES, M0, DeviceFault, execute

pytestmark = [pytest.mark.amd]

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
