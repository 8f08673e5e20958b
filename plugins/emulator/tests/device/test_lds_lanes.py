"""Instructions of LDS that move values between lanes."""

import numpy as np
import pytest

from plugins.emulator.tests.device.lane_values import SOME_LANES, active, random_bytes, random_state
from plugins.emulator.tests.device.wave import ALL_LANES, LANES, M0, execute

pytestmark = [pytest.mark.amd]

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
