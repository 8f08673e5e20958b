"""Loads and stores of one value per wave."""

import numpy as np
import pytest

from plugins.emulator.tests.device.wave import DeviceFault, State, execute

pytestmark = [pytest.mark.amd]


def test_every_width_arrives_with_the_wait():
    data = np.random.default_rng(1).integers(0, 2**32, 64, np.uint32)
    state = State()
    state.set_scalar64(2, data.ctypes.data + 64)
    state.scalar[4] = 8
    state.scalar[20] = 7
    after = execute(
        "s_load_dword s20, s[2:3], -0x40\ns_mov_b32 s90, s20\ns_load_dwordx2 s[22:23], s[2:3], s4\n"
        "s_load_dwordx4 s[24:27], s[2:3], 0x0\ns_load_dwordx8 s[32:39], s[2:3], 0x16\n"
        "s_load_dwordx16 s[48:63], s[2:3], s4 offset:0x10\ns_waitcnt lgkmcnt(0)",
        state,
        memory=[data],
    )
    assert after.scalar[90] == 7  # before the wait
    for register, first, count in ((20, 0, 1), (22, 18, 2), (24, 16, 4), (32, 21, 8), (48, 22, 16)):
        assert np.array_equal(after.scalar[register:][:count], data[first:][:count]), count


def test_no_count_but_0_covers_scalar_loads():
    data = np.arange(4, dtype=np.uint32) + 100
    state = State()
    state.set_scalar64(2, data.ctypes.data)
    after = execute(
        "s_load_dword s20, s[2:3], 0x0\ns_load_dword s21, s[2:3], 0x4\ns_waitcnt lgkmcnt(1)\n"
        "s_mov_b32 s22, s20\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s23, s20",
        state,
        memory=[data],
    )
    assert list(after.scalar[20:24]) == [100, 101, 0, 100]


def test_buffers_are_read_as_0_past_their_end():
    data = np.random.default_rng(2).integers(0, 2**32, 64, np.uint32)
    state = State()
    for first, records, stride in ((4, 40, 0), (8, 5, 8)):
        address = data.ctypes.data
        state.scalar[first : first + 4] = (address & 0xFFFFFFFF, address >> 32 | stride << 16, records, 0)
    after = execute(
        "s_buffer_load_dwordx4 s[20:23], s[4:7], 0x20\ns_buffer_load_dwordx2 s[24:25], s[8:11], 0x24\n"
        "s_buffer_load_dword s26, s[8:11], 0x8\ns_waitcnt lgkmcnt(0)",
        state,
        memory=[data],
    )
    assert list(after.scalar[20:27]) == [data[8], data[9], 0, 0, data[9], 0, data[2]]


def test_clocks_advance():
    after = execute(
        "s_memtime s[4:5]\ns_memrealtime s[8:9]\ns_waitcnt lgkmcnt(0)\ns_memtime s[6:7]\ns_waitcnt lgkmcnt(0)"
    )
    assert after.scalar64(6) > after.scalar64(4) > after.scalar64(8) > 0


def test_an_address_without_memory_is_a_fault():
    state = State()
    state.set_scalar64(2, 0x1234560)
    place = r"0x1234564: s_load_dwordx2 .* at 0x0 of kernel test"
    with pytest.raises(DeviceFault, match=rf"read of 8 bytes at {place}"):
        execute("s_load_dwordx2 s[4:5], s[2:3], 0x4", state)
