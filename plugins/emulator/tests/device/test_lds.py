"""Reads and writes of LDS."""

import numpy as np
import pytest

from plugins.emulator.tests.device.lane_values import (
    SOME_LANES,
    active,
    random_bytes,
    random_state,
    span,
    words,
)
from plugins.emulator.tests.device.wave import ACC, ALL_LANES, LANES, execute

pytestmark = [pytest.mark.amd]

_WIDTHS = {"b32": 4, "b64": 8, "b96": 12, "b128": 16}


def lds_state(seed, *, mask=ALL_LANES, size=4096):
    """Random LDS and registers; v0 has addresses within, 128 bytes before the end at most."""
    state = random_state(seed, mask, lds=random_bytes(seed, size))
    state.vector[0] = np.random.default_rng(seed).permutation(size // 16 - 8)[:LANES] * 16
    return state


@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES, 0])
def test_whole_registers_are_read_from_each_lanes_address(mask):
    state = lds_state(1, mask=mask)
    start = state.vector.copy()
    lds, addresses, on = state.lds.copy(), start[0].astype(int), active(mask)
    text = "\n".join(
        f"ds_read_{width} v[{10 * n}:{10 * n + size // 4 - 1}], v0 offset:{12 * n}"
        for n, (width, size) in enumerate(_WIDTHS.items(), 1)
    ).replace("v[10:10]", "v10")
    after = execute(text + "\ns_waitcnt lgkmcnt(0)", state)
    for n, size in enumerate(_WIDTHS.values(), 1):
        expected = np.where(on, words(lds, addresses + 12 * n, size // 4), start[10 * n :][: size // 4])
        assert np.array_equal(after.vector[10 * n :][: size // 4], expected), size


@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES])
def test_bytes_and_shorts_are_extended_or_keep_the_other_half(mask):
    state = lds_state(2, mask=mask)
    start = state.vector.copy()
    lds, on = state.lds.copy(), active(mask)
    at = start[0].astype(int) + 3
    unsigned = {1: lds[at].astype(np.uint32), 2: lds[at] | lds[at + 1].astype(np.uint32) << 8}
    signed = {
        1: unsigned[1].astype(np.uint8).view(np.int8).astype(np.int32).view(np.uint32),
        2: unsigned[2].astype(np.uint16).view(np.int16).astype(np.int32).view(np.uint32),
    }
    low, high = np.uint32(0xFFFF), np.uint32(0xFFFF0000)
    expected = {"u8": unsigned[1], "i8": signed[1], "u16": unsigned[2], "i16": signed[2]}
    for name, values in (("u8", unsigned[1]), ("i8", signed[1]), ("u16", unsigned[2])):
        row = 10 + len(expected)
        expected[f"{name}_d16"] = start[row] & high | values & low
        expected[f"{name}_d16_hi"] = start[row + 1] & low | values << 16
    text = "\n".join(f"ds_read_{name} v{10 + n}, v0 offset:3" for n, name in enumerate(expected))
    after = execute(text + "\ns_waitcnt lgkmcnt(0)", state)
    for n, (name, values) in enumerate(expected.items()):
        assert np.array_equal(after.vector[10 + n], np.where(on, values, start[10 + n])), name


@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES])
@pytest.mark.parametrize(
    ("name", "size", "shift", "offset"),
    [
        ("b8", 1, 0, 5),
        ("b8_d16_hi", 1, 16, 1),
        ("b16", 2, 0, 3),
        ("b16_d16_hi", 2, 16, 2),
        ("b32", 4, 0, 7),
        ("b64", 8, 0, 8),
        ("b96", 12, 0, 4),
        ("b128", 16, 0, 65),
    ],
)
def test_active_lanes_write_their_bytes(name, size, shift, offset, mask):
    state = lds_state(3, mask=mask)
    lds, start = state.lds.copy(), state.vector.copy()
    registers = span(10, max(1, size // 4))
    after = execute(f"ds_write_{name} v0, {registers} offset:{offset}", state)
    for lane in np.flatnonzero(active(mask)):
        data = (start[10:14, lane] >> np.uint32(shift)).tobytes()[:size]
        begin = int(start[0, lane]) + offset
        lds[begin : begin + size] = np.frombuffer(data, np.uint8)
    assert np.array_equal(after.lds, lds)


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize(("name", "unit"), [("2", 1), ("2st64", 64)])
def test_two_elements_have_offsets_of_their_own(name, unit, size):
    bits, count = 8 * size, size // 4
    state = lds_state(4, mask=SOME_LANES, size=1 << 16)
    start, lds, on = state.vector.copy(), state.lds.copy(), active(SOME_LANES)
    state.vector[0] = start[0] = np.arange(LANES) * 16
    first, second = 3, 40
    read = {4: "v[20:21]", 8: "v[20:23]"}[size]
    data = {4: ("v30", "v32"), 8: ("v[30:31]", "v[32:33]")}[size]
    after = execute(
        f"ds_read{name}_b{bits} {read}, v0 offset0:{first} offset1:{second}\n"
        f"ds_write{name}_b{bits} v0, {data[0]}, {data[1]} offset0:{first} offset1:{second}\n"
        "s_waitcnt lgkmcnt(0)",
        state,
    )
    for n, offset in enumerate((first, second)):
        at = start[0].astype(int) + offset * size * unit
        row = 20 + n * count
        assert np.array_equal(
            after.vector[row : row + count], np.where(on, words(lds, at, count), start[row : row + count])
        )
        for lane in np.flatnonzero(on):
            value = start[30 + 2 * n : 30 + 2 * n + count, lane].copy()
            lds[at[lane] : at[lane] + size] = value.view(np.uint8)
    assert np.array_equal(after.lds, lds)


def test_accumulation_registers_are_source_and_destination():
    state = lds_state(5)
    start, lds = state.vector.copy(), state.lds.copy()
    after = execute(
        "ds_read_b64 a[2:3], v0 offset:8\nds_write_b64 v0, a[6:7]\n"
        "ds_write2_b32 v0, a8, a9 offset0:4 offset1:5\ns_waitcnt lgkmcnt(0)",
        state,
    )
    at = start[0].astype(int)
    assert np.array_equal(after.vector[ACC + 2 : ACC + 4], words(lds, at + 8, 2))
    for row, offset in ((6, 0), (7, 4), (8, 16), (9, 20)):
        for lane in range(LANES):
            lds[at[lane] + offset :][:4] = start[ACC + row, lane : lane + 1].view(np.uint8)
    assert np.array_equal(after.lds, lds)


def test_past_the_end_is_read_as_0_and_not_written():
    state = lds_state(6, size=2048)
    state.vector[0] = np.arange(LANES) * 64
    state.vector[0, 5] = 0xFFFFFFF8  # wraps with the offset
    start, lds = state.vector.copy(), state.lds.copy()
    after = execute(
        "ds_read_b64 v[10:11], v0 offset:12\nds_write_b32 v0, v20 offset:12\ns_waitcnt lgkmcnt(0)", state
    )
    at = (start[0] + np.uint32(12)).astype(int)
    inside = at + 8 <= 2048
    assert inside.sum() == 32
    expected = np.where(inside, words(lds, np.where(inside, at, 0), 2), 0)
    assert np.array_equal(after.vector[10:12], expected)
    for lane in np.flatnonzero(at + 4 <= 2048):
        lds[at[lane] : at[lane] + 4] = start[20, lane : lane + 1].view(np.uint8)
    assert np.array_equal(after.lds, lds)


def test_results_arrive_with_the_wait_and_in_order():
    state = lds_state(7)
    start, lds = state.vector.copy(), state.lds.copy()
    after = execute(
        "ds_read_b32 v10, v0\nds_read_b32 v11, v0 offset:4\nv_add_u32_e32 v12, 0, v10\n"
        "s_waitcnt lgkmcnt(1)\nv_add_u32_e32 v13, 0, v10\nv_add_u32_e32 v14, 0, v11\n"
        "s_waitcnt lgkmcnt(0)\nv_add_u32_e32 v15, 0, v11",
        state,
    )
    first, second = words(lds, start[0].astype(int), 2)
    assert np.array_equal(after.vector[12], start[10])  # before the wait
    assert np.array_equal(after.vector[13], first)
    assert np.array_equal(after.vector[14], start[11])  # not yet waited for
    assert np.array_equal(after.vector[15], second)
