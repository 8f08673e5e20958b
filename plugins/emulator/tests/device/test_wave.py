"""Registers, masks and waits of one wave."""

from __future__ import annotations

import numpy as np
import pytest

from plugins.emulator.tests.device.wave import DeviceFault, State, execute

pytestmark = [pytest.mark.amd]


def test_only_active_lanes_get_results():
    state = State()
    state.vector[1] = np.arange(64)
    state.vector[3] = 7
    state.exec = 0x0F0F
    after = execute("v_add_u32_e32 v3, 100, v1", state)
    on = np.array([0x0F0F >> lane & 1 for lane in range(64)], bool)
    assert np.array_equal(after.vector[3], np.where(on, np.arange(64) + 100, 7))


def test_scalar_sum_carries():
    state = State()
    state.scalar[2:4] = (0xFFFFFFFF, 2)
    after = execute("s_add_u32 s0, s2, s3", state)
    assert (after.scalar[0], after.scc) == (1, True)


def test_unknown_instruction_is_named():
    with pytest.raises(DeviceFault, match=r"opcode that this architecture.*at 0x0 of kernel test"):
        execute([0x7E000000 | 255 << 9])
