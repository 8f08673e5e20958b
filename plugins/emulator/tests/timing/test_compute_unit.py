"""The simulated compute unit, held against times that can be computed by hand."""

import numpy as np
import pytest

from plugins.emulator.tests.device.wave import State
from plugins.emulator.tests.timing.timed_wave import timed

pytestmark = pytest.mark.amd

#: a wave's instructions follow one another at this distance
ISSUE = 4


def _cycles(text, **given):
    return float(timed(text, **given)["cycles"])


def _each(line, **given):
    """Return the cycles of one more repetition."""
    return (_cycles(line + 29 * ("\n" + line), **given) - _cycles(line + 9 * ("\n" + line), **given)) / 20


CHAINS = (
    ("gfx90a", "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]", 16),
    ("gfx942", "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", 8),
    ("gfx942", "v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3]", 4),
    ("gfx950", "v_mfma_f32_16x16x32_bf16 a[0:3], v[0:3], v[4:7], a[0:3]", 4),
    ("gfx950", "v_mfma_f32_32x32x16_f16 v[16:31], v[0:3], v[4:7], v[16:31]", 8),
)


@pytest.mark.parametrize(("arch", "line", "passes"), CHAINS)
def test_a_chain_of_matrix_instructions_takes_their_passes(arch, line, passes):
    assert _each(line, arch=arch) == 4 * passes


def test_a_result_of_a_matrix_instruction_is_late_for_others():
    # llvm-mca: 12 quarters of latency where the unit is busy for 8
    line = "v_mfma_f32_32x32x8_f16 v[16:31], v[0:1], v[2:3], v[16:31]\nv_add_f32 v0, v16, v17"
    assert _each(line) == 4 * 12 + ISSUE


def test_other_instructions_issue_while_a_matrix_is_multiplied():
    matrix = "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]"
    assert _each(matrix + 7 * "\nv_add_f32 v8, v9, v10") == _each(matrix)
    assert _each(matrix + 9 * "\nv_add_f32 v8, v9, v10") == _each(matrix) + 2 * ISSUE


@pytest.mark.parametrize("waves", [1, 4, 5, 8, 9])
def test_waves_share_the_units_of_their_simd(waves):
    states = [State() for _ in range(waves)]
    # of a SIMD with the most waves
    most = -(-waves // 4)
    assert _each("v_add_f32 v8, v9, v10", states=states) == most * ISSUE
    assert _each("v_exp_f32 v8, v9", states=states) == most * 16
    mixed = "v_exp_f32 v8, v9\ns_nop 0\ns_nop 0\ns_nop 0"
    assert _each(mixed, states=states) == most * 16


def _lds_state(offsets, size=65536):
    state = State(lds=np.zeros(size, np.uint8))
    state.vector[0] = offsets
    return state


LANES = np.arange(64)
#: opcode, offsets of the lanes, cycles with 32 banks
ACCESSES = (
    ("ds_read_b32 v4, v0", 4 * LANES, 2),
    ("ds_read_b32 v4, v0", 0 * LANES, 2),
    ("ds_read_b32 v4, v0", 8 * LANES, 4),
    ("ds_read_b32 v4, v0", 128 * LANES, 64),
    ("ds_read_b32 v4, v0", 132 * LANES, 2),
    ("ds_read_b64 v[4:5], v0", 8 * LANES, 4),
    ("ds_read_b64 v[4:5], v0", 128 * LANES, 64),
    ("ds_read_b128 v[4:7], v0", 16 * LANES, 8),
    ("ds_write_b128 v0, v[4:7]", 16 * LANES, 8),
    ("ds_write_b128 v0, v[4:7]", 128 * LANES, 64),
    # rows of 128 bytes, of which each group of 8 lanes reads a different 16 bytes
    ("ds_write_b128 v0, v[4:7]", 128 * LANES + 16 * (LANES % 8), 8),
    ("ds_read2_b32 v[4:5], v0 offset1:1", 8 * LANES, 8),
)


@pytest.mark.parametrize(("line", "offsets", "cycles"), ACCESSES)
def test_lds_takes_a_cycle_for_each_word_of_a_bank(line, offsets, cycles):
    ran = timed(line, [_lds_state(offsets)], changes={"lds_banks": 32})
    assert ran["busy"]["lds"] == cycles


def test_wide_reads_are_grouped_as_the_hardware_groups_them():
    # lanes 0 to 3 and 20 to 23 have the 16 bytes of one row each, in different banks
    first = np.concatenate([np.arange(4), np.arange(20, 24)])
    offsets = np.full(64, 0)
    state_lanes = np.zeros(64, bool)
    offsets[first] = 16 * np.arange(8)
    state_lanes[first] = True
    state = _lds_state(offsets)
    state.exec = int(sum(1 << int(lane) for lane in first))
    assert timed("ds_read_b128 v[4:7], v0", [state], changes={"lds_banks": 32})["busy"]["lds"] == 1
    state = _lds_state(offsets)
    state.exec = int(sum(1 << int(lane) for lane in first))
    assert timed("ds_write_b128 v0, v[4:7]", [state], changes={"lds_banks": 32})["busy"]["lds"] == 2


def test_waves_queue_for_lds():
    states = [_lds_state(128 * LANES) if n == 0 else _lds_state(128 * LANES, 0) for n in range(4)]
    assert _each("ds_read_b32 v4, v0", states=states, changes={"lds_banks": 32}) == 4 * 64


def _pointing_state(array, stride):
    state = State()
    addresses = array.ctypes.data + stride * LANES.astype(np.uint64)
    state.vector[0], state.vector[1] = addresses & 0xFFFFFFFF, addresses >> 32
    return state


def _aligned(size):
    raw = np.zeros(size + 4096, np.uint8)
    return raw[-raw.ctypes.data % 4096 :][:size]


@pytest.mark.parametrize(("stride", "lines"), [(0, 1), (4, 2), (16, 8), (128, 64), (256, 64)])
def test_lines_are_those_that_lanes_touch(stride, lines):
    array = _aligned(64 * 256)
    ran = timed("global_load_dword v4, v[0:1], off", [_pointing_state(array, stride)], memory=[array])
    assert (ran["cache_lines"], ran["missed_lines"]) == (lines, lines)


def test_what_was_loaded_is_in_the_cache_until_it_is_full():
    array = _aligned(64 * 256)
    line = "global_load_dword v4, v[0:1], off"
    state = _pointing_state(array, 128)
    again = timed(f"{line}\n{line}", [state], memory=[array])
    assert (again["cache_lines"], again["missed_lines"]) == (128, 64)
    small = timed(
        f"{line}\n{line}", [_pointing_state(array, 128)], memory=[array], changes={"cache_bytes": 32 * 128}
    )
    assert small["missed_lines"] == 128


def test_a_wait_takes_the_latency_of_its_load():
    array = _aligned(4096)
    load = "global_load_dword v4, v[0:1], off"
    changes = {"cache_latency": 100, "miss_latency": 500, "miss_cycle_bytes": 64}
    states = [_pointing_state(array, 0)]
    waited = _cycles(f"{load}\ns_waitcnt vmcnt(0)\ns_nop 0", states=states, memory=[array], changes=changes)
    # 4 cycles of addresses and then the miss; the wait, the pause and the end issue one after the other
    assert waited == 4 + 500 + 3 * ISSUE
    free = _cycles(f"{load}\ns_nop 0", states=states, memory=[array], changes=changes)
    assert free == 3 * ISSUE
    partial = f"{load}\n{load} offset:1024\ns_waitcnt vmcnt(1)\ns_nop 0"
    assert _cycles(partial, states=states, memory=[array], changes=changes) == waited


def test_a_barrier_waits_for_the_slowest_wave():
    slow, fast = State(), State()
    slow.scalar[0], fast.scalar[0] = 1, 0
    text = "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 33\n" + "s_nop 15\n" * 33 + "s_barrier"
    both = timed(text, [slow, fast], changes={"barrier_cycles": 0, "branch_cycles": 4})
    alone = timed(text, [slow], changes={"barrier_cycles": 0, "branch_cycles": 4})
    assert both["cycles"] == alone["cycles"]
    assert both["stalled"]["barrier"] == pytest.approx(33 * 16 * 4, abs=16)


def test_workgroups_follow_one_another_in_their_slots():
    text = "\n".join(["s_nop 15"] * 10)
    one = _cycles(text, changes={"dispatch_cycles": 100})
    assert _cycles(text, count=3, slots=1, changes={"dispatch_cycles": 100}) == 3 * one + 2 * 100
    assert _cycles(text, count=3, slots=3) == one
