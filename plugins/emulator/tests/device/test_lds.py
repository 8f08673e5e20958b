"""Reads and writes of LDS, values that move between lanes, and loads that go there instead of registers."""

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
from plugins.emulator.tests.device.wave import ACC, ALL_LANES, LANES, M0, execute

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


_LANE = np.arange(LANES)


@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES])
def test_lanes_send_and_fetch(mask):
    state = random_state(1, mask)
    start, on = state.vector.copy(), active(mask)
    after = execute(
        "ds_permute_b32 v10, v0, v1 offset:8\nds_bpermute_b32 v11, v0, v1 offset:4\ns_waitcnt lgkmcnt(0)",
        state,
    )
    sent = np.zeros(LANES, np.uint32)
    for lane in np.flatnonzero(on):
        sent[(int(start[0, lane]) + 8) % 2**32 // 4 % 64] = start[1, lane]
    source = (start[0] + np.uint32(4)) // 4 % 64
    fetched = np.where(on[source], start[1][source], 0)
    assert np.array_equal(after.vector[10], np.where(on, sent, start[10]))
    assert np.array_equal(after.vector[11], np.where(on, fetched, start[11]))


def _reversed(lane, bits):
    return int(f"{lane:0{bits}b}"[::-1], 2) if bits else 0


@pytest.mark.parametrize(
    ("offset", "source"),
    [
        ("swizzle(QUAD_PERM, 3, 0, 2, 1)", _LANE // 4 * 4 + np.array([3, 0, 2, 1])[_LANE % 4]),
        # from the highest of 5 bits on: 0, kept, 1, inverted, 0
        ('swizzle(BITMASK_PERM, "0p1i0")', np.array([n & 32 | n & 8 | 4 | (~n & 2) for n in _LANE])),
        ("swizzle(SWAP, 8)", _LANE ^ 8),
        ("swizzle(REVERSE, 32)", _LANE ^ 31),
        ("swizzle(BROADCAST, 8, 5)", _LANE // 8 * 8 + 5),
        # rotations, left by 3 and right by 5 within 32 lanes
        ("0xc060", _LANE // 32 * 32 + (_LANE + 3) % 32),
        ("0xc4a0", _LANE // 32 * 32 + (_LANE - 5) % 32),
        # rotations of the upper three bits
        ("0xc103", _LANE // 32 * 32 + (_LANE % 32 // 4 + 2) % 8 * 4 + _LANE % 4),
        # bits reversed: all 5, or the lower 4 of each 16
        ("0xe000", _LANE // 32 * 32 + np.array([_reversed(lane % 32, 5) for lane in _LANE])),
        ("0xe010", _LANE // 16 * 16 + np.array([_reversed(lane % 16, 4) for lane in _LANE])),
        ("0xe01f", _LANE),
    ],
)
def test_swizzles(offset, source):
    state = random_state(2, SOME_LANES)
    start, on = state.vector.copy(), active(SOME_LANES)
    after = execute(f"ds_swizzle_b32 v10, v1 offset:{offset}\ns_waitcnt lgkmcnt(0)", state)
    expected = np.where(on[source], start[1][source], 0)
    assert np.array_equal(after.vector[10], np.where(on, expected, start[10]))


def test_addresses_by_the_number_of_the_lane():
    state = random_state(3, SOME_LANES, lds=random_bytes(3, 1024))
    state.scalar[M0] = 0x50000 | 64  # the upper half is no address
    start, on, lds = state.vector.copy(), active(SOME_LANES), state.lds.copy()
    after = execute(
        "ds_read_addtid_b32 v10 offset:16\nds_write_addtid_b32 v11 offset:512\ns_waitcnt lgkmcnt(0)", state
    )
    assert np.array_equal(after.vector[10], np.where(on, lds[80:336].copy().view(np.uint32), start[10]))
    written = lds[576:832].view(np.uint32)
    written[:] = np.where(on, start[11], written)
    assert np.array_equal(after.lds, lds)


@pytest.mark.parametrize(
    ("name", "bits", "count", "registers"),
    [("b64_tr_b16", 16, 4, 2), ("b64_tr_b8", 8, 8, 2), ("b64_tr_b4", 4, 16, 2), ("b96_tr_b6", 6, 16, 3)],
)
def test_transposed_reads(name, bits, count, registers):
    """16 lanes read the rows of a matrix of 16 columns, side by side; each gets a column."""
    state = random_state(4, lds=random_bytes(4, 4096))
    state.vector[0] = np.random.default_rng(4).permutation(LANES) * 16
    start, lds = state.vector.copy(), state.lds.copy()
    size = bits * count // 8
    after = execute(
        f"ds_read_{name} v[10:{9 + registers}], v0 offset:32\ns_waitcnt lgkmcnt(0)", state, arch="gfx950"
    )
    raw = [int.from_bytes(lds[a + 32 : a + 32 + size].tobytes(), "little") for a in start[0].astype(int)]
    elements = np.array([[word >> bits * n & (1 << bits) - 1 for n in range(count)] for word in raw])
    for group in range(4):
        matrix = elements[16 * group : 16 * group + 16].reshape(count, 16)
        for lane in range(16):
            expected = sum(int(value) << bits * row for row, value in enumerate(matrix[:, lane]))
            words = after.vector[10 : 10 + registers, 16 * group + lane]
            assert int.from_bytes(words.tobytes(), "little") == expected


def _state(data, mask):
    state = random_state(1, mask, lds=random_bytes(2, 4096))
    state.vector[0] = np.random.default_rng(1).permutation(LANES) * 16
    state.scalar[4:8] = [data.ctypes.data & 0xFFFFFFFF, data.ctypes.data >> 32, 900, 0x20000]
    state.set_scalar64(2, data.ctypes.data)
    state.scalar[M0] = 256
    return state


def _expected(lds, begin, values, mask):
    """Return LDS with ``values[lane, byte]`` one after the other."""
    lds = lds.copy()
    size = values.shape[1]
    for lane in np.flatnonzero(active(mask)):
        lds[begin + size * lane : begin + size * (lane + 1)] = values[lane]
    return lds


@pytest.mark.parametrize("mask", [ALL_LANES, SOME_LANES])
def test_dwords_of_buffers_with_0_past_the_end(mask):
    data = random_bytes(3, 2048)
    state = _state(data, mask)
    at, lds = state.vector[0].astype(int) + 8, state.lds.copy()
    after = execute("buffer_load_dword v0, s[4:7], 0 offen offset:8 lds", state, memory=[data])
    values = np.array([data[a : a + 4] if a + 4 <= 900 else [0] * 4 for a in at], np.uint8)
    # the offset counts in LDS, too
    assert np.array_equal(after.lds, _expected(lds, 264, values, mask))


def test_narrow_global_loads_are_extended_to_dwords():
    data = random_bytes(4, 2048)
    state = _state(data, SOME_LANES)
    at, lds = state.vector[0].astype(int), state.lds.copy()
    after = execute(
        "global_load_lds_sshort v0, s[2:3]\nglobal_load_lds_ubyte v0, s[2:3] offset:1024",
        state,
        memory=[data],
    )
    short = np.array([data[a : a + 2].view(np.int16)[0] for a in at]).astype(np.int32)
    byte = data[at + 1024].astype(np.uint32)
    lds = _expected(lds, 256, short.view(np.uint8).reshape(LANES, 4), SOME_LANES)
    lds = _expected(lds, 1280, byte.view(np.uint8).reshape(LANES, 4), SOME_LANES)
    assert np.array_equal(after.lds, lds)


@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize(
    "text",
    ["buffer_load_dwordx{} v0, s[4:7], 0 offen offset:4 lds", "global_load_lds_dwordx{} v0, s[2:3] offset:4"],
)
def test_wide_loads_of_gfx950(text, count):
    data = random_bytes(5, 2048)
    state = _state(data, SOME_LANES)
    state.scalar[6] = 2048
    at, lds = state.vector[0].astype(int) + 4, state.lds.copy()
    after = execute(text.format(count), state, memory=[data], arch="gfx950")
    values = np.array([data[a : a + 4 * count] for a in at])
    assert np.array_equal(after.lds, _expected(lds, 260, values, SOME_LANES))


def test_they_arrive_with_the_wait_for_vector_memory():
    data = random_bytes(6, 2048)
    state = _state(data, ALL_LANES)
    at, lds = state.vector[0].astype(int), state.lds.copy()
    state.vector[1] = np.arange(LANES) * 4 + 256
    after = execute(
        "global_load_lds_dword v0, s[2:3]\nds_read_b32 v10, v1\ns_waitcnt lgkmcnt(0)\n"
        "s_waitcnt vmcnt(0)\nds_read_b32 v11, v1\ns_waitcnt lgkmcnt(0)",
        state,
        memory=[data],
    )
    assert np.array_equal(after.vector[10], lds[256:512].view(np.uint32))
    assert np.array_equal(after.vector[11], [data[a : a + 4].view(np.uint32)[0] for a in at])
