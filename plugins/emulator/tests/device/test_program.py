"""What decides which instruction comes next, and addresses of instructions."""

import numpy as np
import pytest

from plugins.emulator.tests.device.wave import DeviceFault, State, assembled, execute

pytestmark = [pytest.mark.amd]


def test_the_program_counter_is_that_of_the_next_instruction():
    """s_getpc of two successive instructions differs by their size; what it says can be jumped to."""
    after = execute(
        """
        s_getpc_b64 s[0:1]
        s_mov_b32 s20, 0x12345678
        s_getpc_b64 s[2:3]
        s_add_u32 s4, s2, 16
        s_addc_u32 s5, s3, 0
        s_setpc_b64 s[4:5]
        s_mov_b32 s21, 1
        s_mov_b32 s22, 2
        s_mov_b32 s23, 3
        """
    )
    # s_mov with a literal has 8 bytes
    assert after.scalar64(2) - after.scalar64(0) == 8 + 4
    assert list(after.scalar[20:24]) == [0x12345678, 0, 2, 3]


def test_calls_return_behind_the_call():
    after = execute(
        """
        s_getpc_b64 s[0:1]
        s_add_u32 s2, s0, 28
        s_addc_u32 s3, s1, 0
        s_swappc_b64 s[4:5], s[2:3]
        s_mov_b32 s20, 1
        s_call_b64 s[6:7], 5
        s_mov_b32 s21, 2
        s_branch 6
        s_mov_b32 s22, 3
        s_sub_u32 s8, s4, s0
        s_setpc_b64 s[4:5]
        s_mov_b32 s23, 4
        s_sub_u32 s9, s6, s0
        s_setpc_b64 s[6:7]
        """
    )
    assert list(after.scalar[20:24]) == [1, 2, 3, 4]
    assert list(after.scalar[8:10]) == [12, 20]


@pytest.mark.parametrize(
    ("name", "scc", "vcc", "lanes", "taken"),
    [
        ("s_cbranch_scc0 1", False, 0, 1, True),
        ("s_cbranch_scc0 1", True, 0, 1, False),
        ("s_cbranch_scc1 1", True, 0, 1, True),
        ("s_cbranch_scc1 1", False, 0, 1, False),
        ("s_cbranch_vccz 1", False, 0, 1, True),
        ("s_cbranch_vccz 1", False, 1 << 40, 1, False),
        ("s_cbranch_vccnz 1", False, 1 << 40, 1, True),
        ("s_cbranch_vccnz 1", False, 0, 1, False),
        ("s_cbranch_execz 1", False, 0, 0, True),
        ("s_cbranch_execz 1", False, 0, 1 << 63, False),
        ("s_cbranch_execnz 1", False, 0, 1 << 63, True),
        ("s_cbranch_execnz 1", False, 0, 0, False),
        ("s_branch 1", False, 0, 1, True),
    ],
)
def test_branches(name, scc, vcc, lanes, taken):
    state = State(scc=scc)
    state.set_scalar64(106, vcc)
    state.exec = lanes
    after = execute(f"{name}\ns_mov_b32 s0, 1\ns_mov_b32 s1, 2", state)
    assert list(after.scalar[:2]) == [0 if taken else 1, 2]


def test_loops_go_backwards():
    after = execute(
        "s_movk_i32 s0, 5\ns_addk_i32 s1, 3\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 65532"
    )
    assert (after.scalar[0], after.scalar[1]) == (0, 15)


def test_what_ends_a_program_early():
    with pytest.raises(DeviceFault, match="branch to no instruction"):
        execute("s_mov_b64 s[0:1], 4\ns_setpc_b64 s[0:1]")
    with pytest.raises(DeviceFault, match="aborted"):
        execute("s_trap 2")
    with pytest.raises(DeviceFault, match="no end after"):
        execute("s_nop 0\ns_branch 65534")


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_registers_by_index(arch):
    """Between s_set_gpr_idx_on and _off, numbers of vector registers are relative to M0."""
    state = State()
    state.vector[:64] = np.arange(64)[:, None] * 100 + np.arange(64)
    state.scalar[0] = 5
    after = execute(
        """
        s_set_gpr_idx_on s0, gpr_idx(SRC0)
        v_mov_b32_e32 v40, v1
        s_set_gpr_idx_off
        v_mov_b32_e32 v41, v1
        s_set_gpr_idx_on s0, gpr_idx(DST)
        v_mov_b32_e32 v50, v2
        s_set_gpr_idx_idx s1
        v_mov_b32_e32 v51, v3
        s_set_gpr_idx_mode gpr_idx(SRC0,SRC1,DST)
        s_set_gpr_idx_idx s0
        v_add_u32_e32 v52, v4, v5
        s_set_gpr_idx_off
        """,
        state,
        arch=arch,
    )
    lanes = np.arange(64)
    expected = {40: 600 + lanes, 41: 100 + lanes, 55: 200 + lanes, 51: 300 + lanes, 57: 1900 + 2 * lanes}
    for register, values in expected.items():
        assert np.array_equal(after.vector[register], values), register


def test_lanes_are_read_and_written():
    state = State()
    state.vector[0] = np.arange(64) + 100
    state.scalar[5] = 70  # of which 6 bits count
    state.exec = 0xFF00
    after = execute(
        """
        v_readfirstlane_b32 s0, v0
        v_readlane_b32 s1, v0, 63
        v_readlane_b32 s2, v0, s5
        v_writelane_b32 v1, s5, 2
        v_writelane_b32 v1, 33, s5
        s_mov_b64 exec, 0
        v_readfirstlane_b32 s3, v0
        """,
        state,
    )
    assert list(after.scalar[:4]) == [108, 163, 106, 100]
    assert (after.vector[1, 2], after.vector[1, 6], after.vector[1].sum()) == (70, 33, 103)


def test_registers_are_swapped_in_active_lanes():
    state = State()
    state.vector[0], state.vector[1] = 1, 2
    state.exec = 0xF
    after = execute("v_swap_b32 v0, v1", state)
    assert (after.vector[0, :5].tolist(), after.vector[1, :5].tolist()) == ([2, 2, 2, 2, 1], [1, 1, 1, 1, 2])


@pytest.mark.parametrize("rows", [16, 32])
def test_rows_are_swapped_on_gfx950(rows):
    state = State()
    state.vector[0], state.vector[1] = np.arange(64), np.arange(64) + 1000
    after = execute(f"v_permlane{rows}_swap_b32 v0, v1", state, arch="gfx950")
    first = np.arange(64).reshape(-1, 2, rows)
    second = first + 1000
    # odd rows of the destination and even rows of the source
    assert np.array_equal(after.vector[0], np.stack([first[:, 0], second[:, 0]], 1).ravel())
    assert np.array_equal(after.vector[1], np.stack([first[:, 1], second[:, 1]], 1).ravel())


def test_registers_from_128_on_are_plain_in_16_bit_operations():
    """Other architectures name upper halves so."""
    state = State()
    state.vector[130], state.vector[2] = 0x00050003, 0x00070009
    after = execute("v_add_u16_e32 v131, v130, v2", state)
    assert after.vector[131, 0] == 12
    assert assembled("gfx942", "v_add_u16_e32 v131, v130, v2")[0] & 0x1FF == 256 + 130
