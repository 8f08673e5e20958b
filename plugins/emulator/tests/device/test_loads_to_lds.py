"""Loads that go to LDS instead of registers."""

import numpy as np
import pytest

from plugins.emulator.tests.device.lane_values import SOME_LANES, active, random_bytes, random_state
from plugins.emulator.tests.device.wave import ALL_LANES, LANES, M0, execute

pytestmark = [pytest.mark.amd]


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
